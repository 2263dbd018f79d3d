// The fast path: fresh messages only, many in one statement, effect and marks in one transaction.
import assert from 'node:assert/strict'
import { PGlite } from '@electric-sql/pglite'
import { defineConsumer, json, messageId } from 'consume-once'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { pgliteInbox } from 'consume-once/pg'

const db = await PGlite.create()
await db.query('create table reading (sensor text, celsius float)')

const readings = defineConsumer({
  name: 'store-readings',
  id: messageId.header('reading-id'),
  decode: json<{ sensor: string; celsius: number }>(),
  store: pgliteInbox({ pglite: db }),
  handleBatch: async ({ messages, tx }) => {
    const rows = messages.map(({ payload }) => payload)
    await tx.query('insert into reading select * from unnest($1::text[], $2::float[])', [
      rows.map(({ sensor }) => sensor),
      rows.map(({ celsius }) => celsius),
    ])
  },
})

const broker = new MemoryBroker()
for (let n = 0; n < 3_000; n++) {
  const id = n % 2_000 // the last thousand are sent again
  const value = Buffer.from(JSON.stringify({ sensor: `s${id % 20}`, celsius: id / 100 }))
  broker.publish('readings', { value, headers: { 'reading-id': `r-${id}` } })
}
const running = await runMemory(broker, readings, { topic: 'readings', group: 'readings' })
await broker.drained('readings', 'readings')
await running.stop()

const { rows } = await db.query<{ count: number }>('select count(*)::int as count from reading')
assert.equal(rows[0]?.count, 2_000)
console.log('3,000 messages, 2,000 readings, 2,000 rows')
await db.close()
