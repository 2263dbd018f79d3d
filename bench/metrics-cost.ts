// tsx test/kit/servers/with-servers.ts -- tsx bench/metrics-cost.ts
//
// The CPU of a message with metrics on, as a ratio to off: medians of runs that take turns in one process. `no-op` is an observer
// that does nothing: the events have to be made for it.

import { randomUUID } from 'node:crypto'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { Registry } from 'prom-client'
import {
  defineConsumer,
  memoryStore,
  MemoryBroker,
  messageId,
  runMemory,
  type Consumer,
  type Observer,
} from 'consume-once'
import { redisLease } from 'consume-once/ioredis'
import { runKafka } from 'consume-once/kafkajs'
import { otelMetrics } from 'consume-once/otel'
import { prometheus } from 'consume-once/prometheus'
import { RETENTION_MS } from './contenders/redis-times.ts'

interface Exporter {
  readonly observe: readonly Observer[]
  /** Once for each run, as every 15 s in production. */
  readonly scrape: () => Promise<unknown>
}

class ManualReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

const EXPORTERS: Readonly<Record<string, () => Exporter>> = {
  off: () => ({ observe: [], scrape: async () => {} }),
  'no-op': () => ({ observe: [() => {}], scrape: async () => {} }),
  prometheus: () => {
    const registry = new Registry()
    return { observe: [prometheus({ registry })], scrape: () => registry.metrics() }
  },
  otelMetrics: () => {
    const reader = new ManualReader()
    const meter = new MeterProvider({ readers: [reader] }).getMeter('consume-once')
    return { observe: [otelMetrics({ meter })], scrape: () => reader.collect() }
  },
}

const ROUNDS = 5
const PAYLOAD = Buffer.from(JSON.stringify({ text: 'x'.repeat(1_000) }))

/** Runs a consumer until it has handled every message. Gives the CPU of a message, in microseconds. */
type Path = (messages: number, exporter: Exporter) => Promise<number>

async function cpuOf(messages: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / messages
}

function counting(
  messages: number,
  make: (handle: () => Promise<void>) => Consumer,
): { readonly consumer: Consumer; readonly over: Promise<void> } {
  let left = messages
  const ends: (() => void)[] = []
  const over = new Promise<void>((resolve) => void ends.push(resolve))
  const consumer = make(async () => {
    if (--left === 0) ends[0]?.()
  })
  return { consumer, over }
}

const onMemory: Path = async (messages, { observe, scrape }) => {
  const broker = new MemoryBroker({ partitions: 4 })
  for (let at = 0; at < messages; at++) {
    broker.publish('t', { key: Buffer.from(`k${at % 1_000}`), headers: { 'message-id': `m${at}` }, value: PAYLOAD })
  }
  const id = messageId.header('message-id')
  const { consumer, over } = counting(messages, (handle) =>
    defineConsumer({ name: 'bench', store: memoryStore(), id, handle, observe }),
  )
  return cpuOf(messages, async () => {
    const running = await runMemory(broker, consumer, { topic: 't', group: 'g' })
    await over
    await scrape()
    await running.stop()
  })
}

async function onKafkaAndRedis(
  messages: number,
): Promise<{ readonly path: Path; readonly close: () => Promise<void> }> {
  const kafka = new Kafka({ brokers: (process.env['KAFKA_BROKERS'] ?? '').split(','), logLevel: logLevel.NOTHING })
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  const topic = `metrics-cost-${randomUUID()}`
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: 8 }], waitForLeaders: true })
  const producer = kafka.producer()
  await producer.connect()
  for (let from = 0; from < messages; from += 500) {
    const batch = Array.from({ length: 500 }, (_, at) => {
      return { key: `k${(from + at) % 1_000}`, value: PAYLOAD, headers: { 'message-id': `m${from + at}` } }
    })
    await producer.send({ topic, messages: batch, acks: 1 })
  }
  await producer.disconnect()
  const path: Path = async (_, { observe, scrape }) => {
    const name = randomUUID()
    const id = messageId.header('message-id')
    const store = redisLease({ redis, prefix: `metrics-cost:${name}` })
    const { consumer, over } = counting(messages, (handle) =>
      defineConsumer({ name: 'bench', store, id, handle, observe, retentionMs: RETENTION_MS }),
    )
    return cpuOf(messages, async () => {
      const running = await runKafka(kafka, consumer, { topics: [topic], group: name })
      await over
      await scrape()
      await running.stop()
    })
  }
  const close = async (): Promise<void> => {
    await admin.deleteTopics({ topics: [topic] })
    await admin.disconnect()
    redis.disconnect()
  }
  return { path, close }
}

async function compare(title: string, messages: number, path: Path): Promise<void> {
  const found = new Map(Object.keys(EXPORTERS).map((name): [string, number[]] => [name, []]))
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, make] of Object.entries(EXPORTERS)) {
      const each = await path(messages, make())
      if (round > 0) found.get(name)?.push(each)
    }
  }
  const off = medianOf(found.get('off') ?? [])
  console.log(title)
  for (const [name, all] of found) {
    const median = medianOf(all)
    console.log(`  ${name.padEnd(12)} ${median.toFixed(2)} us/message, ${(median / off).toFixed(3)} of off`)
  }
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

async function main(): Promise<void> {
  await compare('memory broker and store, no-op handler', 30_000, onMemory)
  const servers = await onKafkaAndRedis(10_000)
  await compare('Kafka and Redis, no-op handler', 10_000, servers.path)
  await servers.close()
}

void main()
