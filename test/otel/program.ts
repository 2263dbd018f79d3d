import { createRequire } from 'node:module'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { AmqplibInstrumentation } from '@opentelemetry/instrumentation-amqplib'
import { KafkaJsInstrumentation } from '@opentelemetry/instrumentation-kafkajs'
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  ParentBasedSampler,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-node'
import { onMessage, runRabbit } from '../../adapters/amqplib/index.ts'
import { eachBatch, eachMessage, runKafka } from '../../adapters/kafkajs/index.ts'
import { otelTracing } from '../../adapters/otel/index.ts'
import { defineConsumer, messageId, type Consumer } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import type { ProgramConfig, SeenSpan } from './traced-process.ts'

// An application with OpenTelemetry, in a process of its own: instrumentations patch the clients of a whole process.

const config = JSON.parse(process.argv[2] ?? '') as ProgramConfig
/** Instrumentations watch this function. */
const require = createRequire(import.meta.url)
const exporter = new InMemorySpanExporter()

function instrument(): void {
  const provider = new NodeTracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  provider.register()
  for (const one of [new KafkaJsInstrumentation(), new AmqplibInstrumentation()]) one.setTracerProvider(provider)
}

if (config.instrumented === 'before') instrument()
const kafkajs = require('kafkajs') as typeof import('kafkajs')
const amqplib = require('amqplib') as typeof import('amqplib')
if (config.instrumented === 'after') instrument()

let ended = 0
let tellAll: () => void = () => {}
const all = new Promise<void>((resolve) => (tellAll = resolve))
let failed = false

const consumer = defineConsumer({
  name: 'sms',
  id: messageId.header('id'),
  decode: (value) => Buffer.from(value ?? []).toString(),
  store: memoryStore(),
  trace: otelTracing(),
  backoff: { initialMs: 5, maxMs: 20 },
  handle: ({ payload }) => {
    if (payload === 'fails once' && !failed) {
      failed = true
      throw new Error('busy')
    }
  },
  observe: (event) => {
    if (event.type !== 'delivery') return
    process.send?.({ ended: ++ended })
    if (ended === config.deliveries) tellAll()
  },
})

const stop = config.broker === 'kafka' ? await consumeKafka(consumer) : await consumeRabbit(consumer)
await all
await stop()
process.send?.({ spans: exporter.getFinishedSpans().map(seen) })
process.disconnect?.()

async function consumeKafka(sms: Consumer): Promise<() => Promise<void>> {
  const { servers, destination: topic, way } = config
  const kafka = new kafkajs.Kafka({ brokers: [...servers], logLevel: kafkajs.logLevel.NOTHING })
  if (way === 'own') {
    const running = await runKafka(kafka, sms, { topics: [topic], group: topic, commitEveryMs: 50 })
    return () => running.stop()
  }
  const own = kafka.consumer({ groupId: topic, maxWaitTimeInMs: 100 })
  await own.connect()
  await own.subscribe({ topics: [topic], fromBeginning: true })
  const options = { group: topic }
  if (way === 'each message') await own.run({ eachMessage: eachMessage(sms, options) })
  else await own.run({ eachBatch: eachBatch(sms, options), eachBatchAutoResolve: false })
  return () => own.disconnect()
}

async function consumeRabbit(sms: Consumer): Promise<() => Promise<void>> {
  const { servers, destination: queue, way } = config
  const [url = ''] = servers
  if (way === 'own') {
    const running = await runRabbit(() => amqplib.connect(url), sms, { queue })
    return () => running.stop()
  }
  const connection = await amqplib.connect(url)
  const channel = await connection.createChannel()
  const take = onMessage(channel, sms, { queue })
  await channel.consume(queue, take, { noAck: false })
  return async () => {
    await take.stop()
    await channel.close()
    await connection.close()
  }
}

function seen(span: ReadableSpan): SeenSpan {
  return {
    name: span.name,
    kind: SpanKind[span.kind] ?? '',
    status: SpanStatusCode[span.status.code] ?? '',
    spanId: span.spanContext().spanId,
    parentId: span.parentSpanContext?.spanId,
    links: span.links.map(({ context }) => context.spanId),
    attributes: span.attributes as SeenSpan['attributes'],
    by: span.instrumentationScope.name,
  }
}
