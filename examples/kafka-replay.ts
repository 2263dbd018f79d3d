// Replay a topic: the group is set back to the beginning, everything is delivered again, nothing happens again.
import assert from 'node:assert/strict'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { defineConsumer, messageId, type Outcome, type Running } from 'consume-once'
import { runKafka } from 'consume-once/kafkajs'
// #region publish
import { confirmedPublisher } from 'consume-once/kafkajs' // or from 'consume-once/platformatic-kafka'
// #endregion
import { postgresInbox } from 'consume-once/pg'
import { notifications } from './support/notifications.ts'
import { databaseUrl, eventually, kafkaBrokers, ownName } from './support/servers.ts'

const messages = notifications(3_000)
const topic = ownName('sms')
const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 4 }], waitForLeaders: false })
// #region publish

const publisher = confirmedPublisher(kafka)
await Promise.all(
  messages.map(({ id, key, payload }) => publisher.publish({ topic, key, messageId: id, value: payload })),
)
// #endregion

const pool = new Pool({ connectionString: databaseUrl() })
await pool.query(`create schema ${topic}; create table ${topic}.sent (id text)`)

const outcomes = new Map<Outcome, number>()
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store: postgresInbox({ pool, schema: topic }),
  handle: async ({ message, tx }) => {
    await tx.query(`insert into ${topic}.sent values ($1)`, [String(message.headers['message-id'])])
  },
  observe: (event) => {
    if (event.type === 'delivery') outcomes.set(event.outcome, (outcomes.get(event.outcome) ?? 0) + 1)
  },
})

async function consumeAll(): Promise<void> {
  outcomes.clear()
  const running: Running = await runKafka(kafka, sms, { topics: [topic], group: topic })
  await eventually(async () => [...outcomes.values()].reduce((sum, count) => sum + count, 0) >= messages.length)
  await running.stop()
}
const sent = async (): Promise<number> => (await pool.query(`select * from ${topic}.sent`)).rows.length

await consumeAll()
const first = await sent()
console.log(`first time: ${messages.length} deliveries, ${first} SMS`, outcomes)

// The replay. The group, the topic and the consumer's name stay, so that the keys stay: a replay under another group would
// find nothing done (give `scope` the former group to keep keys).
await admin.resetOffsets({ groupId: topic, topic, earliest: true })
await consumeAll()
console.log(`replayed: ${messages.length} deliveries, ${(await sent()) - first} second SMS`, outcomes)

assert.equal(await sent(), first)
assert.equal(outcomes.get('handled'), undefined)

await publisher.close()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups([topic])
await admin.disconnect()
await pool.query(`drop schema ${topic} cascade`)
await pool.end()
