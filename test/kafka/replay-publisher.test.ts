import { describe, expect, it } from '@jest/globals'
import type { IHeaders } from 'kafkajs'
import { type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { defaultPartition } from '../../adapters/kafka/copies/default-partition.ts'
import type { ReplayItem } from '../../src/internal.ts'
import { openedOnce } from '../kit/opened.ts'
import { Cluster } from './kit.ts'
import { deadLetterOf, messageOn } from './dead-letters.ts'
import { placesOf, readAll } from './replay-kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

interface Stored {
  readonly partition: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: IHeaders | undefined
}

const byKey = (a: Stored, b: Stored): number => (a.key?.length ?? 0) - (b.key?.length ?? 0)

async function storedIn(topic: string): Promise<readonly Stored[]> {
  const stored: Stored[] = []
  await cluster.readAll(topic, ({ key, value, headers }, partition) => stored.push({ partition, key, value, headers }))
  return stored
}

async function itemsOf(topic: string, options: Partial<KafkaOptions> = {}): Promise<readonly ReplayItem[]> {
  const reader = await placesOf(cluster, topic, options).open(topic)
  return readAll(reader, await reader.range({}))
}

async function republish(items: readonly ReplayItem[], destination: string, headers = {}): Promise<void> {
  const publisher = await placesOf(cluster, destination).publisher()
  try {
    await publisher.publish(items.map((item) => ({ item, destination, headers })))
  } finally {
    await publisher.close()
  }
}

const BYTES = Buffer.from([0, 255, 128, 7])

describe('a dead letter that is sent back', () => {
  for (const style of ['own', 'spring', 'both'] as const) {
    it(`has the key, bytes and headers of its original: header names ${style}`, async () => {
      const topic = await cluster.topic(4)
      const headers = { 'message-id': 'm1', binary: BYTES, twice: ['a', 'b'], traceparent: '00-1-2-01' }
      await cluster.send(
        topic,
        [
          { key: BYTES, value: BYTES, headers },
          { key: null, value: 'no key', headers },
        ],
        2,
      )
      const originals = await itemsOf(topic)
      const before = await storedIn(topic)
      const { source, publisher } = kafkaSource(cluster.kafka(), {
        topics: [topic],
        group: topic,
        deadLetter: { headers: style },
      })
      for (const { message } of originals)
        await publisher.deadLetter(deadLetterOf(message, { parked: true, setAsideAt: 5_000 }))
      await source.close()
      const deadLetters = await itemsOf(`${topic}.dead-letter`)
      expect(deadLetters[0]?.message.origin).toBe(topic)
      expect(deadLetters[0]?.deadLetter).toEqual({
        reason: 'fatal',
        parked: true,
        since: 5_000,
        consumer: 'sms-sender',
        group: 'sms',
        destination: topic,
      })
      await republish(deadLetters, topic, { 'consume-once-replay-id': 'r1' })
      const after = (await storedIn(topic)).filter(({ headers: had }) => had?.['consume-once-replay-id'] !== undefined)
      const expected = before.map((original) => ({
        ...original,
        partition: original.key === null ? 2 : defaultPartition(original.key, 4),
        headers: { ...original.headers, 'consume-once-replay-id': Buffer.from('r1') },
      }))
      expect(after.toSorted(byKey)).toEqual(expected.toSorted(byKey))
    })
  }

  it('to another topic keeps its origin, which is part of its key', async () => {
    const [topic, other] = [await cluster.topic(), await cluster.topic()]
    await cluster.send(topic, ['v'])
    await republish(await itemsOf(topic), other)
    expect((await itemsOf(other)).map(({ message }) => message.origin)).toEqual([topic])
  })

  it('of another program: its topic, and no header about the failure', async () => {
    const topic = await cluster.topic()
    const dead = await cluster.topic()
    const foreign: Record<string, Record<string, string | Buffer>> = {
      spring: {
        'kafka_dlt-original-topic': topic,
        'kafka_dlt-original-partition': Buffer.alloc(4),
        'kafka_dlt-original-consumer-group': 'theirs',
      },
      retryTopics: {
        'kafka_original-topic': topic,
        'kafka_exception-fqcn': 'X',
        'retry_topic-attempts': Buffer.alloc(4),
      },
      cloudStream: { 'x-original-topic': topic, 'x-exception-message': 'X' },
      connect: { '__connect.errors.topic': topic, '__connect.errors.offset': '3' },
      smallrye: { 'dead-letter-topic': topic, 'dead-letter-reason': 'X' },
    }
    await cluster.send(
      dead,
      Object.entries(foreign).map(([value, headers]) => ({ value, headers: { ...headers, id: value } })),
    )
    const deadLetters = await itemsOf(dead, { topics: [topic] })
    expect(deadLetters.map(({ deadLetter }) => deadLetter?.destination)).toEqual(deadLetters.map(() => topic))
    expect(deadLetters[0]?.deadLetter?.group).toBe('theirs')
    expect(deadLetters.map(({ message }) => message.origin)).toEqual(deadLetters.map(() => topic))
    await republish(deadLetters, topic)
    for (const { value, headers } of await storedIn(topic)) {
      const name = String(value)
      expect({ name, headers: Object.keys(headers ?? {}) }).toEqual({ name, headers: ['id'] })
    }
  })

  it('a name that is no topic, a copy that waits for its next attempt, and a message that was redriven are none', async () => {
    const topic = await cluster.topic()
    const waiting = { 'consume-once-origin-topic': 'a', 'consume-once-not-before': '1', 'x-exception-message': 'X' }
    await cluster.send(topic, [
      { value: '1', headers: { 'x-original-topic': '../a', 'x-exception-message': 'X' } },
      { value: '2', headers: waiting },
      { value: '3', headers: { 'x-original-topic': topic, 'consume-once-replay-count': '1' } },
    ])
    expect((await itemsOf(topic)).map(({ deadLetter }) => deadLetter)).toEqual([undefined, undefined, undefined])
  })
})

describe('publishing', () => {
  it('more than the topic takes at once: all of it, in order', async () => {
    const topic = await cluster.topic(1, { 'max.message.bytes': '100000' })
    const item = (at: number): ReplayItem => ({
      part: `${topic}/0`,
      position: String(at),
      message: messageOn(topic, { value: Buffer.alloc(20_000, at) }),
      timestamp: undefined,
      timestampOf: 'producer',
    })
    await republish(
      Array.from({ length: 40 }, (_, at) => item(at)),
      topic,
    )
    expect((await storedIn(topic)).map(({ value }) => value?.[0])).toEqual(Array.from({ length: 40 }, (_, at) => at))
    const large = { ...item(0), message: messageOn(topic, { value: Buffer.alloc(200_000) }) }
    const refused = { code: 'BROKER_PUBLISH_REFUSED', message: expect.stringContaining('max.message.bytes') as unknown }
    await expect(republish([large], topic)).rejects.toMatchObject(refused)
  })

  it('to a topic that is not there is refused, and the topic is not made', async () => {
    const topic = await cluster.topic()
    await cluster.send(topic, ['v'])
    const refused = republish(await itemsOf(topic), `${topic}.missing`)
    await expect(refused).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    expect(await cluster.admin.listTopics()).not.toContain(`${topic}.missing`)
  })

  it('names the dead-letter topics of the consumer', () => {
    expect(placesOf(cluster, 'sms').deadLetters).toEqual(['sms.dead-letter'])
    const topics = ['sms', 'mails']
    expect(placesOf(cluster, 'sms', { topics }).deadLetters).toEqual(['sms.dead-letter', 'mails.dead-letter'])
    expect(placesOf(cluster, 'sms', { topics, deadLetter: { topic: 'dlq' } }).deadLetters).toEqual(['dlq'])
  })
})
