// Consumed once, written once, published under one ID, consumed once by the next: a chain of two consumers on Kafka.
import assert from 'node:assert/strict'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
// #region readme
import { defineConsumer, json } from 'consume-once'
import { confirmedPublisher, runKafka } from 'consume-once/kafkajs'
import { postgresInbox, postgresOutbox } from 'consume-once/pg'
// #endregion
import { databaseUrl, eventually, kafkaBrokers, ownName } from './support/servers.ts'

const schema = ownName('chain')
const [orders, charged] = [`${schema}-orders`, `${schema}-charged`]
const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = kafka.admin()
await admin.connect()
const topics = [orders, charged].map((topic) => ({ topic, numPartitions: 3 }))
await admin.createTopics({ topics, waitForLeaders: false })
const producer = kafka.producer()
await producer.connect()
const pool = new Pool({ connectionString: databaseUrl(), max: 20 })
await pool.query(`create schema ${schema}`)
await pool.query(`create table ${schema}.charge (account text, cents int)`)
await pool.query(`create table ${schema}.receipt (account text, cents int)`)
// #region readme

interface Order {
  orderId: string
  account: string
  cents: number
}

const publisher = confirmedPublisher(kafka)
const outbox = postgresOutbox({ pool, schema, publishers: { kafka: publisher } })

const charges = defineConsumer({
  name: 'charges',
  decode: json<Order>(),
  id: ({ payload }) => payload.orderId,
  store: postgresInbox({ pool, schema, outbox }),
  handle: async ({ payload, tx, publish }) => {
    await tx.query(`insert into ${schema}.charge values ($1, $2)`, [payload.account, payload.cents])
    await publish({ topic: charged, key: payload.account, value: JSON.stringify(payload) })
  },
})
// #endregion
// #region next
const receipts = defineConsumer({
  name: 'receipts',
  decode: json<Order>(), // the ID is the header message-id, which the outbox has set: no option is needed
  store: postgresInbox({ pool, schema }),
  handle: async ({ payload, tx }) => {
    await tx.query(`insert into ${schema}.receipt values ($1, $2)`, [payload.account, payload.cents])
  },
})
// #endregion

const receiving = await runKafka(kafka, receipts, { topics: [charged], group: 'receipts' })
// #region stop
const running = await runKafka(kafka, charges, { topics: [orders], group: 'charges' })
const stop = async (): Promise<void> => {
  await running.stop({ deadlineMs: 10_000 }) // then what its handlers have committed is published too
  await publisher.close() // else its connection keeps the process alive for 5 s
}
process.once('SIGTERM', () => void stop())
// #endregion
for (let n = 0; n < 20; n++) {
  const order: Order = { orderId: `order-${n % 10}`, account: `account-${n % 3}`, cents: n % 10 }
  await producer.send({ topic: orders, acks: -1, messages: [{ key: order.account, value: JSON.stringify(order) }] })
}
// #region own
const client = await pool.connect()
await client.query('begin')
await client.query(`insert into ${schema}.charge values ('account-9', 100)`)
await outbox.publish(client, {
  topic: charged,
  key: 'account-9',
  messageId: 'order-by-phone-1',
  value: JSON.stringify({ account: 'account-9', cents: 100 }),
})
await client.query('commit')
client.release()
outbox.wake() // or it is found by the next look of a relay, within 100 ms
// #endregion

const count = async (table: string): Promise<number> =>
  (await pool.query(`select * from ${schema}.${table}`)).rows.length
await eventually(async () => (await count('receipt')) === 11)
await Promise.all([stop(), receiving.stop({ deadlineMs: 10_000 })])
assert.equal(await count('charge'), 11)
assert.equal(await count('receipt'), 11)
assert.equal(await count('outbox'), 0)
console.log('20 orders sent and one by phone, 11 orders, 11 charges, 11 receipts')

await producer.disconnect()
await admin.deleteTopics({ topics: [orders, charged, `${orders}.dead-letter`, `${charged}.dead-letter`] })
await admin.deleteGroups(['charges', 'receipts'])
await admin.disconnect()
await pool.query(`drop schema ${schema} cascade`)
await pool.end()
