import { afterEach, describe, expect, it } from '@jest/globals'
import type { DeadLetterHeaders } from '../../adapters/kafka/options/options.ts'
import { openedOnce } from '../kit/opened.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, type Opened } from './kit.ts'
import { deadLetterOf, messageOn } from './dead-letters.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

interface Read {
  readonly headers: Readonly<Record<string, Buffer>>
}

/** Headers as bytes: Spring's numbers are binary. */
async function deadLettersOn(topic: string, count: number): Promise<readonly Read['headers'][]> {
  const deadLetters: Read['headers'][] = []
  const consumer = cluster.client().consumer({ groupId: uniqueName('reader'), maxWaitTimeInMs: 50 })
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await new Promise<void>((resolve) => {
    void consumer.run({
      eachMessage: async ({ message }) => {
        deadLetters.push(message.headers as Read['headers'])
        if (deadLetters.length === count) resolve()
      },
    })
  })
  await consumer.disconnect()
  return deadLetters
}

function openWith(topic: string, headers: DeadLetterHeaders): Promise<Opened> {
  return cluster.open({ topics: [topic], group: uniqueName('group'), deadLetter: { headers } })
}

const SPRING = [
  'kafka_dlt-exception-fqcn',
  'kafka_dlt-exception-message',
  'kafka_dlt-original-consumer-group',
  'kafka_dlt-original-offset',
  'kafka_dlt-original-partition',
  'kafka_dlt-original-timestamp',
  'kafka_dlt-original-timestamp-type',
  'kafka_dlt-original-topic',
]

/** What Spring has no name for, and the origin topic, which is part of a message's scope. */
const KEPT = [
  'consume-once-attempts',
  'consume-once-consumer',
  'consume-once-reason',
  'consume-once-dead-lettered-at',
  'consume-once-first-failure-at',
  'consume-once-origin-key-present',
  'consume-once-origin-topic',
  'consume-once-key',
]

const REPLACED = [
  'consume-once-group',
  'consume-once-error-class',
  'consume-once-detail',
  'consume-once-origin-offset',
  'consume-once-origin-partition',
  'consume-once-origin-timestamp',
]

describe('the headers of a dead letter', () => {
  it.each([
    ['own', [...KEPT, ...REPLACED]],
    ['spring', [...SPRING, 'consume-once-spring-headers', ...KEPT]],
    ['both', [...SPRING, 'consume-once-spring-headers', ...KEPT, ...REPLACED]],
  ] as const)('named %s are these and no others', async (style, names) => {
    const topic = await cluster.topic()
    const { publisher } = await openWith(topic, style)
    await publisher.deadLetter(deadLetterOf(messageOn(topic)))
    const [headers = {}] = await deadLettersOn(`${topic}.dead-letter`, 1)
    expect(Object.keys(headers).toSorted()).toEqual([...names].toSorted())
  })

  it("are what Spring Kafka's own consumers read", async () => {
    const topic = await cluster.topic(1, { 'message.timestamp.type': 'LogAppendTime' })
    await cluster.send(topic, ['first', 'second'])
    const { publisher, intake } = await openWith(topic, 'spring')
    await intake.untilDelivered(2)
    const { message } = intake.at('0@1')
    await publisher.deadLetter(deadLetterOf(message))
    const [headers = {}] = await deadLettersOn(`${topic}.dead-letter`, 1)
    expect(String(headers['kafka_dlt-original-topic'])).toBe(topic)
    expect(headers['kafka_dlt-original-partition']).toEqual(Buffer.from([0, 0, 0, 0]))
    expect(headers['kafka_dlt-original-offset']).toEqual(Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]))
    expect(headers['kafka_dlt-original-timestamp']?.readBigInt64BE()).toBe(BigInt(message.timestamp ?? 0))
    expect(String(headers['kafka_dlt-original-timestamp-type'])).toBe('LogAppendTime')
    expect(String(headers['kafka_dlt-original-consumer-group'])).toBe('sms')
    expect(String(headers['kafka_dlt-exception-fqcn'])).toBe('TerminalError')
    expect(String(headers['kafka_dlt-exception-message'])).toBe('card declined')
  })

  it('of a dead letter that was sent back name the place of the first again, and nothing of the way between', async () => {
    const topic = await cluster.topic()
    const { publisher, intake } = await openWith(topic, 'spring')
    const firstFailureAt = Date.parse('2024-01-01')
    const original = messageOn(topic, { position: '7@99', timestamp: 1_700_000_000_000 })
    await publisher.deadLetter(deadLetterOf(original, { parked: true, firstFailureAt }))
    const [deadLetter = {}] = await deadLettersOn(`${topic}.dead-letter`, 1)
    await cluster.send(topic, [{ value: 'v', headers: deadLetter }])
    await intake.untilDelivered(1)
    await publisher.deadLetter(deadLetterOf(intake.at('0@0').message, { attempts: 1, errorClass: undefined }))
    const [, again = {}] = await deadLettersOn(`${topic}.dead-letter`, 2)
    for (const name of SPRING.filter((one) => one.startsWith('kafka_dlt-original'))) {
      expect(again[name]).toEqual(deadLetter[name])
    }
    expect(String(again['consume-once-first-failure-at'])).toBe('2024-01-01T00:00:00.000Z')
    expect(String(again['consume-once-attempts'])).toBe('1')
    expect(deadLetter).toHaveProperty('consume-once-parked')
    expect(again).not.toHaveProperty('consume-once-parked')
    expect(again).not.toHaveProperty('kafka_dlt-exception-fqcn')
  })

  it('take no numbers from a stranger that are none', async () => {
    const topic = await cluster.topic()
    const { publisher } = await openWith(topic, 'both')
    const headers = {
      'consume-once-origin-topic': topic,
      'consume-once-origin-partition': '4294967296',
      'consume-once-origin-offset': 'next',
      'consume-once-origin-timestamp': '-1',
      'consume-once-first-failure-at': 'long ago',
    }
    await publisher.deadLetter(deadLetterOf(messageOn(topic, { headers }), { firstFailureAt: 0 }))
    const [deadLetter = {}] = await deadLettersOn(`${topic}.dead-letter`, 1)
    for (const what of ['partition', 'offset', 'timestamp']) {
      expect(deadLetter).not.toHaveProperty(`kafka_dlt-original-${what}`)
    }
    expect(deadLetter).not.toHaveProperty('consume-once-origin-offset')
    expect(String(deadLetter['consume-once-first-failure-at'])).toBe('1970-01-01T00:00:00.000Z')
  })
})
