// Metrics for Prometheus: a message that is sent twice is one `handled` and one `duplicate` in a scrape.
import assert from 'node:assert/strict'
import { Kafka, logLevel } from 'kafkajs'
import { Redis } from 'ioredis'
// #region readme
import { register } from 'prom-client'
import { defineConsumer, messageId } from 'consume-once'
import { serveHealth } from 'consume-once/health'
import { redisLease } from 'consume-once/ioredis'
import { runKafka } from 'consume-once/kafkajs'
import { prometheus } from 'consume-once/prometheus'
// #endregion
import { eventually, kafkaBrokers, ownName, redisUrl } from './support/servers.ts'

const topic = ownName('metered')
const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.ERROR })
const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })
const redis = new Redis(redisUrl())
/** 9464 for you; any free one here. */
const port = 0
const send = async (_payload: unknown, _key: { idempotencyKey: string }): Promise<void> => {}
// #region readme

const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store: redisLease({ redis }),
  handle: ({ payload, idempotencyKey }) => send(payload, { idempotencyKey }),
  observe: [prometheus({ registry: register })], // counts
})
const running = runKafka(kafka, sms, { topics: [topic], group: 'sms' })
const server = await serveHealth(running, { port, metrics: register }) // serves /metrics, /healthz and /readyz
// #endregion

await running.ready()
const producer = kafka.producer()
await producer.connect()
const message = { value: '{"to":"+1"}', headers: { 'message-id': ownName('sms') } }
for (const one of [message, message]) await producer.send({ topic, acks: -1, messages: [one] })

const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
await eventually(async () => /consume_once_duplicates_total\{[^}]*\} 1$/m.test(await scrape()))
const text = await scrape()
assert.match(text, /consume_once_deliveries_total\{consumer="sms-sender",[^}]*outcome="handled"[^}]*\} 1$/m)
assert.match(text, /consume_once_store_up\{consumer="sms-sender",store="redis-lease"\} 1$/m)
console.log('sent twice, handled once; the other one is a stopped duplicate in /metrics')

await running.stop({ deadlineMs: 10_000 })
await server.close()
await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups(['sms'])
await admin.disconnect()
redis.disconnect()
