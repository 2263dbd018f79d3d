// A kafkajs consumer that stays yours: only its function changes. A weaker promise than runKafka's, which examples/kafka-inbox.ts shows.
import assert from 'node:assert/strict'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { defineConsumer, json, messageId } from 'consume-once'
import { redisLease } from 'consume-once/redis'
import { eachMessage } from 'consume-once/kafkajs'
import { eventually, kafkaBrokers, ownName, redisUrl } from './support/servers.ts'

process.env['KAFKA_BROKERS'] ??= kafkaBrokers().join(',')
process.env['REDIS_URL'] ??= redisUrl()
const topic = ownName('sms')
const groupId = ownName('group')
const prefix = ownName('lease')
const setUp = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.NOTHING })
const admin = setUp.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })
const producer = setUp.producer()
await producer.connect()

const sent: string[] = []
let mistakes = 1
/** The stand-in for a provider, called by code with a mistake: a TypeError from `eachMessage` would end kafkajs for good. */
async function send(sms: { to: string }): Promise<void> {
  if (mistakes-- > 0) throw new TypeError("Cannot read properties of undefined (reading 'status')")
  sent.push(sms.to)
}

const brokers = (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(',')
const kafka = new Kafka({ brokers, logLevel: logLevel.ERROR })
const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://localhost')

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  decode: json<{ to: string }>(),
  store: redisLease({ redis, prefix }),
  handle: ({ payload }) => send(payload),
})

const consumer = kafka.consumer({ groupId })
await consumer.connect()
await consumer.subscribe({ topic, fromBeginning: true })
// #region readme
const onMessage = eachMessage(sms, { group: groupId, kafka }) // `kafka` publishes what must be dead-lettered
await consumer.run({ eachMessage: onMessage })
// #endregion

const once = { value: '{"to":"+15550100"}', headers: { 'message-id': 'sms-1' } }
const other = { value: '{"to":"+15550101"}', headers: { 'message-id': 'sms-2' } }
const nameless = { value: '{"to":"+15550102"}' }
for (const message of [once, once, nameless, other, once]) await producer.send({ topic, acks: -1, messages: [message] })

await eventually(async () => {
  const [answer] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return answer?.partitions[0]?.offset === '5'
})
const [dead] = await admin.fetchTopicOffsets(`${topic}.dead-letter`)
// #region readme
// When the process ends, both at once:
await Promise.all([consumer.stop(), onMessage.stop()])
// #endregion
await consumer.disconnect()
assert.deepEqual(sent, ['+15550100', '+15550101'])
assert.equal(dead?.high, '1')
console.log('5 messages sent, one mistake, 2 SMS, 1 dead letter')

await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups([groupId])
await admin.disconnect()
for await (const keys of redis.scanStream({ match: `${prefix}*` })) {
  if ((keys as string[]).length > 0) await redis.del(keys as string[])
}
redis.disconnect()
