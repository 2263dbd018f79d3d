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

const brokers = kafkaBrokers()
const topic = ownName('payments')
const logs = logLevel.NOTHING
const pool = new Pool({ connectionString: databaseUrl() })
await pool.query(`create schema ${topic}; create table ${topic}.charge (account text, cents int)`)
const charge = `insert into ${topic}.charge (account, cents) values ($1, $2)`

const admin = new Kafka({ brokers, logLevel: logs }).admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false })
const producer = new Kafka({ brokers, logLevel: logs }).producer()
await producer.connect()

// #region readme
const kafka = new Kafka({ brokers, logLevel: logs })

const payments = defineConsumer({
  name: 'charge-account',
  id: messageId.header('payment-id'),
  decode: json<{ account: string; cents: number }>(),
  store: postgresInbox({ pool, schema: topic }), // its tables live in a schema of their own
  handle: async ({ payload, tx }) => {
    await tx.query(charge, [payload.account, payload.cents]) // commits with the mark, or not at all
  },
})

const running = await runKafka(kafka, payments, { topics: [topic], groupId: topic })
// … and when the process ends:
// await running.stop({ deadlineMs: 10_000 })
// #endregion

const once = { key: 'acc-7', value: '{"account":"acc-7","cents":1250}', headers: { 'payment-id': 'p-1' } }
const other = { key: 'acc-7', value: '{"account":"acc-7","cents":300}', headers: { 'payment-id': 'p-2' } }
for (const message of [once, once, other, once]) await producer.send({ topic, acks: -1, messages: [message] })

const charges = async (): Promise<number> => (await pool.query(`select * from ${topic}.charge`)).rows.length
await eventually(async () => (await charges()) >= 2)
await running.stop({ deadlineMs: 10_000 })
assert.equal(await charges(), 2)
console.log('4 messages sent, 2 payments, 2 charges')

await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups([topic])
await admin.disconnect()
await pool.query(`drop schema ${topic} cascade`)
await pool.end()
