// Meters number their readings, which are rows in Postgres. The number and the row commit together, and each meter has one row.
import assert from 'node:assert/strict'
import { Pool } from 'pg'
import { databaseUrl } from './support/servers.ts'
// #region readme
import { defineConsumer, json, messageId } from 'consume-once'
import { MemoryBroker, runMemory } from 'consume-once/memory'
import { postgresInboxSequences } from 'consume-once/pg'

const pool = new Pool({ connectionString: databaseUrl(), max: 10 })
await pool.query('create table if not exists meter_reading (meter text not null, value int not null)')

const readings = defineConsumer({
  name: 'meter-rows',
  id: messageId.sourceSequence({ source: messageId.header('meter'), sequence: messageId.header('seq') }),
  decode: json<number>(),
  store: postgresInboxSequences({ pool }),
  handle: ({ tx, payload, message: { headers } }) =>
    tx.query('insert into meter_reading (meter, value) values ($1, $2)', [String(headers['meter']), payload]),
})
// #endregion

const meter = `m-${process.pid}`
const broker = new MemoryBroker()
const running = await runMemory(broker, readings, { topic: 'readings', group: 'meters' })
// In the wrong order, some twice, and reading 4 late.
for (const seq of [1, 3, 2, 2, 5, 1, 6, 4, 4]) {
  broker.publish('readings', { value: Buffer.from('10'), headers: { meter, seq: String(seq) } })
}
await broker.drained('readings', 'meters')
await running.stop()
const { rows } = await pool.query('select sum(value)::int as sum from meter_reading where meter = $1', [meter])
await pool.end()
console.log(rows) // [ { sum: 60 } ]
assert.deepEqual(rows, [{ sum: 60 }])
