import { describe, expect, it } from '@jest/globals'
import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import type { Consumer } from 'kafkajs'
import { uniqueName } from '../kit/namespace.ts'
import { Signal } from '../kit/signal.ts'
import { itOnKafkajs } from './client/it-on.ts'
import { Cluster } from './kit.ts'
import { placesOf, readAll, replayGroups, spansOf, valuesOf } from './replay-kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

const numbers = (count: number, first = 0): string[] => Array.from({ length: count }, (_, index) => `${first + index}`)
const DAY_MS = 86_400_000

/** Commits or aborts a transaction with these values. */
async function transact(topic: string, values: readonly string[], end: 'commit' | 'abort'): Promise<void> {
  const producer = cluster.client().producer({
    transactionalId: uniqueName('transaction'),
    idempotent: true,
    maxInFlightRequests: 1,
  })
  await producer.connect()
  const transaction = await producer.transaction()
  await transaction.send({ topic, messages: values.map((value) => ({ value, partition: 0 })) })
  await transaction[end]()
  await producer.disconnect()
}

describe('the range of a topic', () => {
  it('ends at what is there now, and begins at what is there', async () => {
    const topic = await cluster.topic(2)
    await cluster.send(topic, numbers(5))
    await cluster.deleteRecords(topic, '2')
    const reader = await placesOf(cluster, topic).open(topic)
    const range = await reader.range({})
    await cluster.send(topic, ['later'])
    expect([spansOf(range), range.warnings]).toEqual([['0: 2-5', '1: 0-0'], []])
    expect(valuesOf(await readAll(reader, range))).toEqual(['2', '3', '4'])
  })

  it('refuses deleted offsets that are asked for', async () => {
    const topic = await cluster.topic()
    await cluster.send(topic, numbers(5))
    await cluster.deleteRecords(topic, '2')
    const reader = await placesOf(cluster, topic).open(topic)
    const refused = { code: 'REPLAY_RANGE_LOST', message: expect.stringContaining(`${topic}/0 begins at 2`) as unknown }
    await expect(reader.range({ from: 1n })).rejects.toMatchObject(refused)
    expect(spansOf(await reader.range({ from: 2n, to: 4n }))).toEqual(['0: 2-4'])
    expect(spansOf(await reader.range({ from: 9n, to: 20n }))).toEqual(['0: 9-9'])
  })

  it('by time: warns where the clock is that of the producer', async () => {
    const at = Date.now() - 2 * DAY_MS // The broker refuses timestamps in the future.
    const times = [at - DAY_MS, at, at + DAY_MS, at + 1, at + 2]
    const messages = times.map((time, index) => ({ value: String(index), timestamp: String(time) }))
    const [theirs, ours] = [
      await cluster.topic(),
      await cluster.topic(1, { 'message.timestamp.type': 'LogAppendTime' }),
    ]
    await cluster.send(theirs, messages)
    await cluster.send(ours, messages)
    const asked = { since: at, until: at + 3 * DAY_MS }
    const reader = await placesOf(cluster, theirs).open(theirs)
    const range = await reader.range(asked)
    expect(spansOf(range)).toEqual(['0: 1-5'])
    expect(range.warnings).toEqual([expect.stringContaining('producers')])
    // A message from tomorrow does not cut off those behind it.
    expect(spansOf(await reader.range({ since: at, until: at + 2 }))).toEqual(['0: 1-5'])
    const [item] = await readAll(reader, range)
    expect(item).toMatchObject({ position: '1', timestamp: at, timestampOf: 'producer', deadLetter: undefined })

    const told = await placesOf(cluster, ours).open(ours)
    const whole = await told.range(asked)
    expect([spansOf(whole), whole.warnings]).toEqual([['0: 0-5'], []])
    expect((await readAll(told, whole))[0]).toMatchObject({ timestampOf: 'broker' })
  })

  it('is cut to a number of messages, spread over the partitions', async () => {
    const topic = await cluster.topic(3)
    await cluster.send(topic, numbers(2), 0)
    await cluster.send(topic, numbers(20), 1)
    const reader = await placesOf(cluster, topic).open(topic)
    const range = await reader.range({ max: 10 })
    expect([spansOf(range), range.warnings.length]).toEqual([['0: 0-2', '1: 0-8', '2: 0-0'], 1])
    expect((await readAll(reader, range)).length).toBe(10)
  })

  it('of one partition', async () => {
    const topic = await cluster.topic(2)
    await cluster.send(topic, numbers(3), 0)
    await cluster.send(topic, numbers(3, 100), 1)
    const reader = await placesOf(cluster, topic).open(`${topic}@1`)
    const range = await reader.range({})
    expect(spansOf(range)).toEqual(['1: 0-3'])
    expect(valuesOf(await readAll(reader, range))).toEqual(numbers(3, 100))
  })

  it('of a place that is not there is refused, and the topic is not made', async () => {
    const topic = await cluster.topic()
    const [places, missing] = [placesOf(cluster, topic), uniqueName('missing')]
    for (const place of [missing, `${topic}@1`, `${topic}@`, '', 'a/b']) {
      await expect(places.open(place)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    }
    expect(await cluster.admin.listTopics()).not.toContain(missing)
  })
})

describe('reading a range', () => {
  it('leaves the offsets of the live group alone, commits nothing, and deletes its own group', async () => {
    const [topic, group] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, numbers(3))
    const intake = new RecordingIntake()
    intake.onDeliver = (delivery) => void (delivery.message.position !== '0@2' && delivery.settle())
    await cluster.open({ topics: [topic], group }, intake)
    await cluster.untilCommitted(group, topic, [2])
    const before = await replayGroups(cluster)
    const reader = await placesOf(cluster, topic, { group }).open(topic)
    const range = await reader.range({})
    let own: string | undefined
    for await (const _ of reader.read(range, { signal: new AbortController().signal })) {
      own = (await replayGroups(cluster)).find((name) => !before.includes(name)) ?? ''
      expect(await cluster.committed(own, topic)).toEqual([-1])
    }
    expect(own).toMatch(/^consume-once-replay-/)
    expect(await replayGroups(cluster)).not.toContain(own)
    expect(await cluster.committed(group, topic)).toEqual([2])
  })

  it('ends where the last offsets are transaction markers and aborted messages', async () => {
    const topic = await cluster.topic()
    await transact(topic, numbers(2), 'commit')
    await transact(topic, ['gone', 'gone'], 'abort')
    await cluster.send(topic, ['2'])
    await transact(topic, ['gone', 'gone'], 'abort')
    const reader = await placesOf(cluster, topic).open(topic)
    // The broker writes the markers of a transaction after it has answered.
    await eventually(async () => spansOf(await reader.range({})).join() === '0: 0-10')
    const range = await reader.range({})
    expect(spansOf(range)).toEqual(['0: 0-10'])
    expect(valuesOf(await readAll(reader, range))).toEqual(['0', '1', '2'])
  })

  it('goes on from a checkpoint, in the middle of a batch', async () => {
    const topic = await cluster.topic(2)
    await cluster.send(topic, numbers(6), 0)
    await cluster.send(topic, numbers(2, 10), 1)
    const reader = await placesOf(cluster, topic).open(topic)
    const range = await reader.range({ to: 5n })
    const items = await readAll(reader, range, { from: { [`${topic}/0`]: '3', [`${topic}/1`]: '2' } })
    expect(valuesOf(items)).toEqual(['3', '4'])
  })

  it('a range of another topic is refused', async () => {
    const topic = await cluster.topic()
    const reader = await placesOf(cluster, topic).open(topic)
    const range = { parts: [{ part: 'other/0', from: '0', to: '1' }], warnings: [] }
    await expect(readAll(reader, range)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('ends before a transaction that is open', async () => {
    const topic = await cluster.topic()
    await cluster.send(topic, ['0'])
    const producer = cluster.client().producer({
      transactionalId: uniqueName('transaction'),
      idempotent: true,
      maxInFlightRequests: 1,
    })
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.send({ topic, messages: [{ value: 'open', partition: 0 }] })
    await cluster.send(topic, ['2'])
    const reader = await placesOf(cluster, topic).open(topic)
    const range = await reader.range({})
    expect(spansOf(range)).toEqual(['0: 0-1'])
    expect(valuesOf(await readAll(reader, range))).toEqual(['0'])
    await transaction.abort()
    await producer.disconnect()
  })

  it('an empty range: nothing is opened', async () => {
    const topic = await cluster.topic()
    const reader = await placesOf(cluster, topic).open(topic)
    expect(await readAll(reader, await reader.range({}))).toEqual([])
  })

  // Its heartbeats are counted.
  itOnKafkajs(
    'partitions of different sizes, a slow reader: each message once, in order, never more ahead than allowed',
    async () => {
      const topic = await cluster.topic(3)
      await cluster.send(topic, numbers(3_000), 0)
      await cluster.send(topic, numbers(20), 1)
      const [client, beats] = [cluster.client(), new Signal()]
      const makeConsumer = client.consumer.bind(client)
      let [beaten, joins] = [0, 0]
      client.consumer = (config) => {
        const consumer = makeConsumer(config)
        consumer.on('consumer.group_join', () => joins++)
        consumer.on('consumer.heartbeat', () => {
          beaten++
          beats.notify()
        })
        return consumer
      }
      const consumer = { sessionTimeout: 2_500, heartbeatInterval: 150, maxWaitTimeInMs: 100 }
      const reader = await placesOf(cluster, topic, { consumerConfig: consumer }, client).open(topic)
      const next = new Map<string, number>()
      let [batches, largest] = [0, 0]
      for await (const batch of reader.read(await reader.range({}), {
        signal: new AbortController().signal,
        ahead: 100,
      })) {
        batches++
        largest = Math.max(largest, batch.length)
        for (const { part, position } of batch) {
          expect(Number(position)).toBe(next.get(part) ?? 0)
          next.set(part, Number(position) + 1)
        }
        // Twice as long as the session.
        if (batches === 2) await beats.until(() => beaten > 34)
      }
      expect([...next.values()].toSorted((a, b) => a - b)).toEqual([20, 3_000])
      expect([largest <= 100, joins]).toEqual([true, 1])
    },
  )

  // Its consumer is sent elsewhere.
  itOnKafkajs('a kafkajs that jumps: nothing twice, nothing left out', async () => {
    const topic = await cluster.topic()
    for (const at of Array.from({ length: 30 }).keys()) await cluster.send(topic, numbers(100, at * 100))
    const client = cluster.client()
    const makeConsumer = client.consumer.bind(client)
    let consumer: Consumer | undefined
    client.consumer = (config) => (consumer = makeConsumer(config))
    const small = { maxBytesPerPartition: 4_000, maxWaitTimeInMs: 100 }
    const reader = await placesOf(cluster, topic, { consumerConfig: small }, client).open(topic)
    const values: string[] = []
    const jumps = ['2500', '0', '2900', '100']
    for await (const batch of reader.read(await reader.range({}), {
      signal: new AbortController().signal,
      ahead: 50,
    })) {
      values.push(...valuesOf(batch))
      const offset = values.length % 500 === 0 ? jumps.shift() : undefined
      if (offset !== undefined) consumer?.seek({ topic, partition: 0, offset })
    }
    expect([values, jumps]).toEqual([numbers(3_000), []])
  })

  it('stops when the broker has deleted what was not read: before it begins, and meanwhile', async () => {
    const topic = await cluster.topic(1, { 'max.message.bytes': '100000' })
    const value = 'x'.repeat(10_000)
    for (let at = 0; at < 60; at++)
      await cluster.send(
        topic,
        Array.from({ length: 5 }, () => value),
      )
    const places = placesOf(cluster, topic, { consumerConfig: { maxBytesPerPartition: 50_000, maxWaitTimeInMs: 100 } })
    const reader = await places.open(topic)
    const range = await reader.range({})
    let read = 0
    const reading = async (): Promise<void> => {
      for await (const batch of reader.read(range, { signal: new AbortController().signal, ahead: 5 })) {
        if (read === 0) await cluster.deleteRecords(topic, '290')
        read += batch.length
      }
    }
    const refused = { code: 'REPLAY_RANGE_LOST', message: expect.stringContaining('begins at 290') as unknown }
    await expect(reading()).rejects.toMatchObject(refused)
    expect(read).toBeLessThan(100)
    await expect(readAll(reader, range)).rejects.toMatchObject(refused)
    const all = range.parts.map((part) => ({ ...part, from: '0', to: '300' }))
    await cluster.deleteRecords(topic, '300')
    await expect(readAll(reader, { parts: all, warnings: [] })).rejects.toMatchObject({ code: 'REPLAY_RANGE_LOST' })
  })

  it('ends when the signal aborts, and when the reader closes', async () => {
    const topic = await cluster.topic()
    await cluster.send(topic, numbers(50))
    const reader = await placesOf(cluster, topic).open(topic)
    const range = await reader.range({})
    for (const stop of ['abort', 'close']) {
      const abort = new AbortController()
      let read = 0
      for await (const batch of reader.read(range, { signal: abort.signal, ahead: 10 })) {
        read += batch.length
        if (stop === 'abort') abort.abort()
        else await reader.close()
      }
      expect(read).toBe(10)
    }
    expect(await readAll(reader, range, { signal: AbortSignal.abort() })).toEqual([])
  })
})
