// Kafka with @platformatic/kafka, by the protocol of KIP-848 where the brokers have it (needs Node 24). One message, sent three times, one charge.
import assert from 'node:assert/strict'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { defineConsumer, json } from 'consume-once'
import { quietKafkaTimers } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'
// #region client
import * as platformatic from '@platformatic/kafka'
import { platformaticKafka, runKafka } from 'consume-once/platformatic-kafka'
// #endregion
import { databaseUrl, eventually, kafkaBrokers, ownName } from './support/servers.ts'

const [topic, group] = [ownName('payments'), ownName('payments')]
const setUp = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
await quietKafkaTimers(setUp)
const admin = setUp.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 3 }], waitForLeaders: false })
const producer = setUp.producer()
await producer.connect()

const brokers = kafkaBrokers()
const pool = new Pool({ connectionString: databaseUrl() })
await pool.query('create table if not exists charge (account text, cents int)')

const payments = defineConsumer({
  name: 'charge-account',
  decode: json<{ paymentId: string; account: string; cents: number }>(),
  id: ({ payload }) => payload.paymentId,
  store: postgresInbox({ pool }),
  handle: async ({ payload, tx }) => {
    await tx.query('insert into charge values ($1, $2)', [payload.account, payload.cents])
  },
})
// #region client

const kafka = platformaticKafka(platformatic, { clientId: 'payments', bootstrapBrokers: brokers })
const running = runKafka(kafka, payments, {
  topics: [topic],
  group,
  consumerConfig: { groupProtocol: 'consumer' }, // KIP-848, Kafka 4.0 and later; without it the classic protocol
})
await running.ready()
// #endregion

const account = `acc-${topic}`
const message = { key: account, value: JSON.stringify({ paymentId: 'p-1', account, cents: 1250 }) }
for (let copy = 0; copy < 3; copy++) await producer.send({ topic, acks: -1, messages: [message] })

const charges = async (): Promise<number> =>
  (await pool.query('select * from charge where account = $1', [account])).rows.length
await eventually(async () => (await charges()) >= 1)
await running.stop({ deadlineMs: 10_000 })
assert.equal(await charges(), 1)
console.log('3 messages sent, 1 payment, 1 charge')

await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups([group])
await admin.disconnect()
await pool.query('delete from charge where account = $1', [account])
await pool.end()
