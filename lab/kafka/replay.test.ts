import { expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { kafkaSubscription } from '../../adapters/kafkajs/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { defineConsumer, messageId } from '../../src/index.ts'
import { planReplay } from '../../src/replay/index.ts'
import type { ReplayItem } from '../../src/internal.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import type { PrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { server } from '../../test/kit/servers/server.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { ownCluster } from './own-cluster.ts'
import { placesOf, readAll, replayGroups, valuesOf } from '../../test/kafka/replay-kit.ts'

let kafka: PrivateKafka
let cluster: Cluster

ownCluster((made, brokers) => ([cluster, kafka] = [made, brokers]))

const { signal } = new AbortController()
const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => String(at))

/** Positions by part, in the order in which they came. */
class Seen {
  readonly #parts = new Map<string, number[]>()
  count = 0

  add(items: readonly ReplayItem[]): void {
    for (const { part, position } of items) {
      const positions = this.#parts.get(part) ?? []
      positions.push(Number(position))
      this.#parts.set(part, positions)
      this.count++
    }
  }

  /** Parts in which a position came twice, or not, or in another place. */
  get wrong(): readonly string[] {
    const wrong = [...this.#parts].filter(([, positions]) => positions.some((position, at) => position !== at))
    return wrong.map(([part]) => part)
  }
}

it('each broker is killed once while a range is read: nothing twice, nothing left out', async () => {
  const topic = await cluster.topic(6)
  for (let partition = 0; partition < 6; partition++) await cluster.send(topic, numbers(2_000), partition)
  const reader = await placesOf(cluster, topic).open(topic)
  const seen = new Seen()
  let [killed, down]: [number, Promise<void> | undefined] = [0, undefined]
  for await (const batch of reader.read(await reader.range({}), { signal, ahead: 50 })) {
    seen.add(batch)
    if (killed === 3 || seen.count < (killed + 1) * 2_500) continue
    await down
    const node = kafka.nodes[killed++]
    await node?.kill()
    down = node?.restart()
  }
  await down
  expect([killed, seen.count, seen.wrong]).toEqual([3, 12_000, []])
}, 120_000)

it('gaps that compaction left, also at the end of the range', async () => {
  const topic = await cluster.topic(1, {
    'cleanup.policy': 'compact',
    'min.cleanable.dirty.ratio': '0.001',
    'segment.ms': '100',
    'max.compaction.lag.ms': '100',
  })
  await cluster.send(topic, [{ key: 'first', value: 'first' }])
  await cluster.send(
    topic,
    numbers(5).map((value) => ({ key: 'same', value })),
  )
  const reader = await placesOf(cluster, topic).open(topic)
  const range = await reader.range({})
  expect(range.parts[0]?.to).toBe('6')
  // A new segment begins with a message after segment.ms; only closed segments are cleaned.
  let values: readonly string[] = []
  do {
    await cluster.send(topic, [{ key: 'same', value: 'later' }])
    values = valuesOf(await readAll(reader, range))
  } while (values.length > 1)
  expect(values).toEqual(['first'])
}, 60_000)

it('a million messages: bounded memory, at a rate of the order of a bare read', async () => {
  await using one = await Cluster.open()
  const topic = await one.topic(4)
  const value = 'x'.repeat(200)
  for (let sent = 0; sent < 1_000_000; sent += 2_500) {
    const messages = Array.from({ length: 2_500 }, (_, at) => ({
      key: String(at),
      value,
      headers: { id: `${sent + at}` },
    }))
    await one.send(topic, messages, (sent / 2_500) % 4)
  }
  const bare = await bareRead(one, topic, 1_000_000)
  const reader = await placesOf(one, topic, { consumerConfig: {} }).open(topic)
  const range = await reader.range({})
  globalThis.gc?.()
  const before = process.memoryUsage()
  const [seen, began] = [{ count: 0, peak: 0 }, performance.now()]
  for await (const batch of reader.read(range, { signal })) {
    seen.count += batch.length
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    seen.peak = Math.max(seen.peak, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers)
  }
  const seconds = (performance.now() - began) / 1_000
  const planned = await planned1M(one, topic)
  const figures = {
    plan: `${Math.round(planned.total / planned.seconds)}/s`,
    planRatio: Number((bare / planned.seconds).toFixed(2)),
    planPeakMb: planned.peakMb,
    bare: `${Math.round(1_000_000 / bare)}/s`,
    replay: `${Math.round(seen.count / seconds)}/s`,
    ratio: Number((bare / seconds).toFixed(2)),
    peakMb: Math.round(seen.peak / 2 ** 20),
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`)
  expect([seen.count, planned.total]).toEqual([1_000_000, 1_000_000])
  // One run each, and a bare read takes a second or two: the machine may be held up in either.
  expect(figures.planRatio).toBeGreaterThan(0.04)
  expect(planned.peakMb).toBeLessThan(300)
  expect(figures.ratio).toBeGreaterThan(0.2)
  expect(figures.peakMb).toBeLessThan(250)
  expect(await replayGroups(one)).toEqual([])
}, 420_000)

/** A plan of the whole topic, each message looked up in Redis, its time and key noted. */
async function planned1M(one: Cluster, topic: string): Promise<{ total: number; seconds: number; peakMb: number }> {
  const redis = new Redis((await server('redis')).url)
  const consumer = defineConsumer({
    name: 'sms',
    id: messageId.header('id'),
    store: redisLease({ redis, prefix: uniqueName('plan') }),
    handle: () => {},
  })
  const subscription = kafkaSubscription(one.client(), { topics: [topic], group: 'live' })
  globalThis.gc?.()
  const before = process.memoryUsage()
  const began = performance.now()
  let peak = 0
  const job = planReplay(consumer, subscription, { from: `kafka:${topic}`, groupBy: '$message.key' })
  for await (const _ of job) {
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    peak = Math.max(peak, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers)
  }
  const { total } = await job.result
  redis.disconnect()
  return { total, seconds: (performance.now() - began) / 1_000, peakMb: Math.round(peak / 2 ** 20) }
}

/** Seconds. */
async function bareRead(one: Cluster, topic: string, count: number): Promise<number> {
  const consumer = one.client().consumer({ groupId: uniqueName('bare') })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const began = performance.now()
  let read = 0
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        autoCommit: false,
        eachBatch: async ({ batch }) => {
          read += batch.messages.length
          if (read === count) resolve()
        },
      })
      .catch(reject)
  })
  const seconds = (performance.now() - began) / 1_000
  await consumer.disconnect()
  return seconds
}
