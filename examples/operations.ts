// What people do to a consumer by code: pause it, look at its records, decide about a parked message, ask what is promised.
import assert from 'node:assert/strict'
import { defineConsumer, messageId, OutcomeUnknownError } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { runKafka } from 'consume-once/kafkajs'
import { Kafka, logLevel } from 'kafkajs'
// #region admin
import { adminOf, doctor } from 'consume-once'
import { kafkaSubscription } from 'consume-once/kafkajs'

// #endregion
import { redisUnder, removeKeys } from './support/redis.ts'
import { eventually, kafkaBrokers, ownName } from './support/servers.ts'

const topic = ownName('orders')
const group = topic
const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const broker = kafka.admin()
await broker.connect()
await broker.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })
const redis = redisUnder(topic)
const store = redisLease({ redis })
const seen: string[] = []

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store,
  onInDoubt: 'park',
  handle: ({ message }) => {
    const id = String(message.headers['message-id'])
    seen.push(id)
    if (id === 'order-17') throw new OutcomeUnknownError('no answer')
  },
})
const running = await runKafka(kafka, sms, { topics: [topic], group })
const producer = kafka.producer()
await producer.connect()
const send = (id: string) =>
  producer.send({ topic, acks: -1, messages: [{ value: '{}', headers: { 'message-id': id } }] })

// #region pause
running.pause({ by: 'kim', reason: 'the provider is being mended, OPS-812' })
// #endregion
assert.equal(running.health().state, 'paused')
await send('order-17')
// #region pause
running.resume({ by: 'kim' })
// #endregion

// #region admin
const subscription = kafkaSubscription(kafka, { topics: [topic], group }) // or { group, origins: [topic] }
const admin = adminOf(sms, subscription)
// #endregion
await eventually(async () => (await admin.inspect(['order-17']))[0]?.state === 'parked')
// #region admin
const [record] = await admin.inspect(['order-17']) // state: 'parked'
await admin.resolve(['order-17'], { as: 'done', by: 'kim', reason: 'the provider has it, OPS-812' })
const { verdict, guarantee } = await doctor(sms, subscription)
// #endregion
assert.equal(record?.state, 'parked')
assert.equal((await admin.inspect(['order-17']))[0]?.state, 'done')
assert.deepEqual(seen, ['order-17'])
console.log(verdict, guarantee)
await running.stop()

const handle = (): void => {}
// #region unprotected
const pageViews = defineConsumer({ name: 'page-views', store, onStoreDown: 'run-unprotected', handle })
// #endregion
const views = await runKafka(kafka, pageViews, { topics: [topic], group: `${group}-views` })
await views.stop()

await producer.disconnect()
await broker.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await broker.deleteGroups([group, `${group}-views`])
await broker.disconnect()
await removeKeys(topic)
await redis.quit()
