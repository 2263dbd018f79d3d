// The quick start with Kafka and Postgres. Run it twice: the second time, nothing is charged again.
import assert from 'node:assert/strict'
import { eventually, ownName } from './support/servers.ts'

const keep = process.env['TOPIC'] !== undefined
process.env['TOPIC'] ??= ownName('payments')
let lines = 0
const print = console.log
console.log = (...words) => {
  lines++
  print(...words)
}
// #region readme
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { defineConsumer, json } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'

const databaseUrl = process.env['DATABASE_URL'] ?? 'postgres://postgres:postgres@127.0.0.1:5432/postgres'
const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
const topic = process.env['TOPIC'] ?? 'payments'

const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
const pool = new Pool({ connectionString: databaseUrl })
await pool.query('create table if not exists charges (payment text, cents int)')

const payments = defineConsumer({
  name: 'charge-account',
  decode: json<{ paymentId: string; cents: number }>(),
  id: ({ payload }) => payload.paymentId, // two messages with the same ID are one payment
  store: postgresInbox({ pool }),
  handle: async ({ payload, tx }) => {
    // Commits together with the ID, or not at all.
    await tx.query('insert into charges values ($1, $2)', [payload.paymentId, payload.cents])
  },
  observe: (event) => {
    if (event.type === 'attempt-failed') console.log('attempt failed:', String(event.error))
    if (event.type !== 'delivery') return
    const { outcome, why, reason, detail } = event
    console.log(outcome, ...[why, reason, detail].filter(Boolean))
  },
})

// A producer that sends the payment p-1 twice, and p-2 once.
const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic }] })
await admin.disconnect()
const producer = kafka.producer()
await producer.connect()
const sent = [
  { paymentId: 'p-1', cents: 1250 },
  { paymentId: 'p-1', cents: 1250 },
  { paymentId: 'p-2', cents: 300 },
]
await producer.send({ topic, messages: sent.map((payment) => ({ key: 'ada', value: JSON.stringify(payment) })) })
await producer.disconnect()

const running = runKafka(kafka, payments, { topics: [topic], group: 'payments' })
const shutDown = async () => {
  await running.stop({ deadlineMs: 10_000 })
  console.log((await pool.query('select payment, cents from charges order by payment')).rows)
  await pool.end()
}
process.once('SIGINT', () => void shutDown()) // Ctrl+C
await running.ready()
// #endregion

// It ends by itself here: each of the three messages has been told.
await eventually(async () => lines >= 3)
const { rows } = await pool.query('select payment from charges order by payment')
assert.deepEqual(rows, [{ payment: 'p-1' }, { payment: 'p-2' }])
process.kill(process.pid, 'SIGINT')
if (!keep) {
  await eventually(async () => pool.ended)
  const cleaner = new Pool({ connectionString: databaseUrl })
  await cleaner.query('drop table charges')
  await cleaner.end()
  await admin.connect()
  await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
  await admin.deleteGroups(['payments'])
  await admin.disconnect()
}
