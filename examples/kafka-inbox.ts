// Kafka and a Postgres inbox: effect and mark in one transaction. A message that is sent three times has one row.
import assert from 'node:assert/strict'
// #region readme
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { defineConsumer, json, messageId } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'
// #endregion
import { databaseUrl, eventually, kafkaBrokers, ownName } from './support/servers.ts'

process.env['KAFKA_BROKERS'] ??= kafkaBrokers().join(',')
process.env['DATABASE_URL'] ??= databaseUrl()
const topic = ownName('payments')
const schema = ownName('inbox')
const setUp = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = setUp.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false })
const producer = setUp.producer()
await producer.connect()

// #region readme
const brokers = (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(',')
const kafka = new Kafka({ brokers, logLevel: logLevel.ERROR })
const pool = new Pool({ connectionString: process.env['DATABASE_URL'] })
await pool.query('create table if not exists charge (account text, cents int)')

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  decode: json<{ account: string; cents: number }>(),
  store: postgresInbox({ pool, schema }), // its own tables; the schema is `consume_once` unless you name one
  handle: async ({ payload, tx }) => {
    // Commits with the mark, or not at all.
    await tx.query('insert into charge values ($1, $2)', [payload.account, payload.cents])
  },
})

// A handle at once: serve `running.health()` from here on. A stop cancels a start that is still under way.
const running = runKafka(kafka, payments, { topics: [topic], groupId: 'payments' })
process.once('SIGTERM', () => void running.stop({ deadlineMs: 10_000 }))
await running.ready() // the group is joined; rejects when that fails
// #endregion

const account = `acc-${topic}`
const once = { key: account, value: JSON.stringify({ account, cents: 1250 }), headers: { 'payment-id': 'p-1' } }
const other = { key: account, value: JSON.stringify({ account, cents: 300 }), headers: { 'payment-id': 'p-2' } }
for (const message of [once, once, other, once]) await producer.send({ topic, acks: -1, messages: [message] })

const charges = async (): Promise<number> =>
  (await pool.query('select * from charge where account = $1', [account])).rows.length
await eventually(async () => (await charges()) >= 2)
await running.stop({ deadlineMs: 10_000 })
assert.equal(await charges(), 2)
console.log('4 messages sent, 2 payments, 2 charges')

await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups(['payments'])
await admin.disconnect()
await pool.query(`drop table charge; drop schema ${schema} cascade`)
await pool.end()
