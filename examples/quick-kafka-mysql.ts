// The quick start with Kafka and MariaDB or MySQL. Run it twice: the second time, nothing is charged again.
import assert from 'node:assert/strict'
import { eventually, mariadbUrl, ownName } from './support/servers.ts'

const keep = process.env['TOPIC'] !== undefined
process.env['TOPIC'] ??= ownName('payments')
process.env['MYSQL_URL'] ??= mariadbUrl()
let lines = 0
const print = console.log
console.log = (...words) => {
  lines++
  print(...words)
}
// #region readme
import { Kafka, logLevel } from 'kafkajs'
import { createPool } from 'mysql2/promise'
import { defineConsumer, json } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
import { mysqlInbox } from 'consume-once/mysql2'

const databaseUrl = process.env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306/test'
const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')
const topic = process.env['TOPIC'] ?? 'payments'

const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING })
const pool = createPool(databaseUrl)
await pool.query('create table if not exists charges (payment varchar(100), cents int)')

const payments = defineConsumer({
  name: 'charge-account',
  decode: json<{ paymentId: string; cents: number }>(),
  id: ({ payload }) => payload.paymentId, // two messages with the same ID are one payment
  store: mysqlInbox({ pool }),
  handle: async ({ payload, tx }) => {
    // Commits together with the ID, or not at all.
    await tx.execute('insert into charges values (?, ?)', [payload.paymentId, payload.cents])
  },
  observe: (event) => {
    if (event.type === 'delivery') console.log(event.outcome)
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

const running = runKafka(kafka, payments, { topics: [topic], group: 'charge-account' })
const shutDown = async () => {
  await running.stop({ deadlineMs: 10_000 })
  const [rows] = await pool.query('select payment, cents from charges order by payment')
  console.log(rows)
  await pool.end()
}
process.once('SIGINT', () => void shutDown()) // Ctrl+C
await running.ready()
// #endregion

// It ends by itself here: each of the three messages has been told.
await eventually(async () => lines >= 3)
const [rows] = await pool.query('select payment from charges order by payment')
assert.deepEqual(rows, [{ payment: 'p-1' }, { payment: 'p-2' }])
process.kill(process.pid, 'SIGINT')
if (!keep) {
  await eventually(async () => lines >= 4)
  const cleaner = createPool(databaseUrl)
  await cleaner.query('drop table charges')
  await cleaner.end()
  await admin.connect()
  await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
  await admin.deleteGroups(['charge-account'])
  await admin.disconnect()
}
