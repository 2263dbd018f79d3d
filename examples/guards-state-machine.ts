// A state machine that ignores a late "created": the order is paid, whatever arrives after that.
import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
import { defineConsumer, json, MemoryBroker, messageId, runMemory } from 'consume-once'
import { advanceState, insertOnce } from 'consume-once/guards'
import { pgliteInbox } from 'consume-once/pg'

const db = await PGlite.create() // Postgres in this process, for the example
await db.exec('create table orders (id text primary key, status text not null)')

const seen: (string | undefined)[] = []

// #region readme
const leadsTo: Record<string, string[]> = { created: ['draft'], paid: ['created'], shipped: ['paid'] }

const orders = defineConsumer({
  name: 'orders',
  id: messageId.header('event-id'),
  decode: json<{ order: string; status: string }>(),
  store: pgliteInbox({ db }),
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
      from: leadsTo[status] ?? [],
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
  ['e-1', 'created'],
  ['e-2', 'paid'],
  ['e-3', 'created'], // sent again by its producer, as another message
  ['e-4', 'shipped'],
  ['e-5', 'paid'],
]
for (const [id = '', status] of events) {
  broker.publish('orders', {
    key: Buffer.from('o-1'),
    value: Buffer.from(JSON.stringify({ order: 'o-1', status })),
    headers: { 'event-id': id },
  })
}

const running = await runMemory(broker, orders, { topic: 'orders', group: 'orders' })
await broker.drained('orders', 'orders')
await running.stop()

console.log(seen)
assert.deepEqual(seen, ['handled', 'handled', 'created is out-of-order', 'handled', 'paid is out-of-order'])
assert.deepEqual((await db.query('select * from orders')).rows, [{ id: 'o-1', status: 'shipped' }])
await db.close()
