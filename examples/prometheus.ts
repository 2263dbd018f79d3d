// Metrics for Prometheus and traces: a message that is sent twice is one `handled` and one `duplicate` in a scrape, and two linked spans.
import assert from 'node:assert/strict'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node'
import { Kafka, logLevel } from 'kafkajs'
import { Redis } from 'ioredis'
// #region readme
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { register } from 'prom-client'
import { defineConsumer, messageId } from 'consume-once'
import { serveHealth } from 'consume-once/health'
import { redisLease } from 'consume-once/redis'
import { runKafka } from 'consume-once/kafkajs'
import { otelTracing } from 'consume-once/otel'
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

const exporter = new InMemorySpanExporter() // in your application: an OTLPTraceExporter, in a BatchSpanProcessor
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
const sms = defineConsumer({
  name: 'sms-sender',
  id: messageId.header('message-id'),
  store: redisLease({ redis }),
  handle: ({ payload, idempotencyKey }) => send(payload, { idempotencyKey }),
  observe: [prometheus({ registry: register })], // counts
  trace: otelTracing(), // one span for each run of the handler, and one for each duplicate
})
const running = runKafka(kafka, sms, { topics: [topic], group: 'sms' })
const server = await serveHealth(running, { port, metrics: register }) // serves /metrics, /healthz and /readyz
// #endregion

await running.ready()
const producer = kafka.producer()
await producer.connect()
const message = { value: '{"to":"+1"}', headers: { 'message-id': ownName('sms') } }
const scrape = async (): Promise<string> => (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
await producer.send({ topic, acks: -1, messages: [message] })
await eventually(async () => /outcome="handled"[^}]*\} 1$/m.test(await scrape()))
await producer.send({ topic, acks: -1, messages: [message] })

await eventually(async () => /consume_once_duplicates_total\{[^}]*\} 1$/m.test(await scrape()))
const text = await scrape()
assert.match(text, /consume_once_deliveries_total\{consumer="sms-sender",[^}]*outcome="handled"[^}]*\} 1$/m)
assert.match(text, /consume_once_store_up\{consumer="sms-sender",store="redis-lease"\} 1$/m)

const spansOfMessages = (): readonly ReadableSpan[] =>
  exporter.getFinishedSpans().filter(({ name }) => name === `process ${topic}`)
await eventually(async () => spansOfMessages().length === 2)
const [run, duplicate] = spansOfMessages()
assert.equal(run?.attributes['consume_once.outcome'], 'handled')
assert.equal(duplicate?.attributes['consume_once.outcome'], 'duplicate')
assert.deepEqual(
  duplicate.links.map(({ context }) => context.traceId),
  [run.spanContext().traceId],
)
console.log('sent twice, handled once; the other one is a stopped duplicate in /metrics, and its span links to the run')

await running.stop({ deadlineMs: 10_000 })
await server.close()
await producer.disconnect()
await admin.deleteTopics({ topics: [topic, `${topic}.dead-letter`] })
await admin.deleteGroups(['sms'])
await admin.disconnect()
redis.disconnect()
