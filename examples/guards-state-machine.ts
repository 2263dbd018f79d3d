// A state machine for events that arrive late or out of order: a late "created" changes nothing, an early "paid" is not lost.
import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
// #region readme
import { defineConsumer, json, messageId } from 'consume-once'
import { advanceState, insertOnce } from 'consume-once/guards'
import { pgliteInbox } from 'consume-once/pg'
// #endregion
import { MemoryBroker, runMemory } from 'consume-once/memory'

const db = await PGlite.create() // Postgres in this process, for the example
await db.exec('create table orders (id text primary key, status text not null)')

const seen: string[] = []

// #region readme
// Each state with all states before it, so that an event that overtakes another one still counts.
const before: Record<string, string[]> = {
  created: ['draft'],
  paid: ['draft', 'created'],
  shipped: ['draft', 'created', 'paid'],
}

const orders = defineConsumer({
  name: 'orders',
  id: messageId.header('event-id'),
  decode: json<{ order: string; status: string }>(),
  store: pgliteInbox({ pglite: db }),
  handle: async (ctx) => {
    const {
      payload: { order, status },
      tx,
    } = ctx
    await insertOnce(tx, { table: 'orders', row: { id: order, status: 'draft' }, conflict: 'id' })
    const { verdict } = await advanceState(tx, {
      table: 'orders',
      key: { id: order },
      column: 'status',
      to: status,
      from: before[status] ?? [],
    })
    if (verdict !== 'applied') return ctx.skip(`${status} is ${verdict}`)
    return undefined
  },
  observe: (event) => {
    if (event.type === 'delivery') seen.push(event.detail ?? event.outcome)
  },
})
// #endregion

const broker = new MemoryBroker()
const events = [
  ['e-1', 'o-1', 'paid'], // overtakes its "created"
  ['e-2', 'o-1', 'created'],
  ['e-3', 'o-2', 'created'],
  ['e-4', 'o-2', 'created'], // sent again by its producer, as another message
  ['e-5', 'o-2', 'shipped'],
  ['e-6', 'o-2', 'paid'],
]
for (const [id = '', order = '', status] of events) {
  broker.publish('orders', {
    key: Buffer.from(order),
    value: Buffer.from(JSON.stringify({ order, status })),
    headers: { 'event-id': id },
  })
}

const running = await runMemory(broker, orders, { topic: 'orders', group: 'orders' })
await broker.drained('orders', 'orders')
await running.stop()

console.log(seen)
assert.deepEqual(seen.toSorted(), [
  'created is already',
  'created is out-of-order',
  'handled',
  'handled',
  'handled',
  'paid is out-of-order',
])
assert.deepEqual((await db.query('select * from orders order by id')).rows, [
  { id: 'o-1', status: 'paid' },
  { id: 'o-2', status: 'shipped' },
])
await db.close()
