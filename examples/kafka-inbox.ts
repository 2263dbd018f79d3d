// Kafka and a Postgres inbox: effect and mark in one transaction. A message that is sent three times has one row.
import assert from 'node:assert/strict'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
// #region readme
import { defineConsumer, json } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'
// #endregion
import { databaseUrl, eventually, kafkaBrokers, ownName } from './support/servers.ts'

const topic = ownName('payments')
const setUp = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = setUp.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false })
const producer = setUp.producer()
await producer.connect()

const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.ERROR })
const pool = new Pool({ connectionString: databaseUrl() })
await pool.query('create table if not exists charge (account text, cents int)')
// #region readme

const payments = defineConsumer({
  name: 'charge-account',
  decode: json<{ paymentId: string; account: string; cents: number }>(),
  id: ({ payload }) => payload.paymentId, // two messages with the same ID are one payment
  store: postgresInbox({ pool }),
  handle: async ({ payload, tx }) => {
    // Commits together with the ID, or not at all.
    await tx.query('insert into charge values ($1, $2)', [payload.account, payload.cents])
  },
})

const running = runKafka(kafka, payments, { topics: [topic], group: 'payments' })
process.on('SIGTERM', () => void running.stop({ deadlineMs: 10_000 })) // works from here on, also while it joins
await running.ready()
// #endregion

const account = `acc-${topic}`
const once = { key: account, value: JSON.stringify({ paymentId: 'p-1', account, cents: 1250 }) }
const other = { key: account, value: JSON.stringify({ paymentId: 'p-2', account, cents: 300 }) }
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
await pool.query('delete from charge where account = $1', [account])
await pool.end()
