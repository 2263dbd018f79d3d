// Kafka, a Postgres inbox and its outbox: a charge and the event of it commit together, and the event goes out after that.
import assert from 'node:assert/strict'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { defineConsumer, json } from 'consume-once'
import { confirmedPublisher, runKafka } from 'consume-once/kafkajs'
import { postgresInbox, postgresOutbox } from 'consume-once/pg'
import { databaseUrl, eventually, kafkaBrokers, ownName } from './support/servers.ts'

const [topic, charged] = [ownName('payments'), ownName('charged')]
const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = kafka.admin()
await admin.connect()
const topics = [topic, charged].map((name) => ({ topic: name, numPartitions: 1 }))
await admin.createTopics({ topics, waitForLeaders: false })
const producer = kafka.producer()
await producer.connect()
const publisher = confirmedPublisher(kafka)
const pool = new Pool({ connectionString: databaseUrl() })
await pool.query('create table if not exists charge (account text, cents int)')

const payments = defineConsumer({
  name: 'charge-account',
  decode: json<{ paymentId: string; account: string; cents: number }>(),
  id: ({ payload }) => payload.paymentId,
  // #region five
  store: postgresInbox({ pool, outbox: postgresOutbox({ pool, publishers: { kafka: publisher } }) }),
  handle: async ({ payload, tx, publish }) => {
    await tx.query('insert into charge values ($1, $2)', [payload.account, payload.cents])
    await publish({ topic: charged, key: payload.account, value: JSON.stringify(payload) })
  },
  // #endregion
})

const account = `acc-${topic}`
const payment = { key: account, value: JSON.stringify({ paymentId: 'p-1', account, cents: 1250 }) }
const running = await runKafka(kafka, payments, { topics: [topic], group: 'payments' })
for (let copy = 0; copy < 3; copy++) await producer.send({ topic, acks: -1, messages: [payment] })

const events = async (): Promise<number> => {
  const [partition] = await admin.fetchTopicOffsets(charged)
  return Number(partition?.offset)
}
await eventually(async () => (await events()) >= 1)
await running.stop({ deadlineMs: 10_000 })
const { rows } = await pool.query('select * from charge where account = $1', [account])
assert.deepEqual([rows.length, await events()], [1, 1])
console.log('3 messages sent, 1 charge, 1 event')

await publisher.close()
await producer.disconnect()
await admin.deleteTopics({ topics: [topic, charged, `${topic}.dead-letter`] })
await admin.deleteGroups(['payments'])
await admin.disconnect()
await pool.query('delete from charge where account = $1', [account])
await pool.end()
