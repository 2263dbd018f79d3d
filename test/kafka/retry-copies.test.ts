import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ConfigResourceTypes } from 'kafkajs'
import { runKafka, type KafkaOptions } from '../../adapters/kafkajs/index.ts'
import { defineConsumer } from '../../src/index.ts'
import { MemoryOffsets } from '../../testing/stores/memory-offsets.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster, type Opened } from './kit.ts'
import { DEAD_LETTER_KEY, deadLetterOf, messageOn, retryCopyOf } from './dead-letters.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

const MINUTE_MS = 60_000

function openWith(options: Omit<KafkaOptions, 'group'> & { readonly group?: string }): Promise<Opened> {
  return cluster.open({ group: uniqueName('group'), ...options })
}

describe('a retry copy', () => {
  it('keeps key, payload and headers as they are, and says where it comes from and when it is due', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, [
      {
        key: Buffer.from([0xff, 0x00]),
        value: Buffer.from([0x01, 0xfe]),
        headers: { 'message-id': 'm-1', traceparent: '00-ab', twice: ['a', 'b'], empty: '', ['__proto__']: 'p' },
      },
    ])
    const { publisher, intake } = await openWith({
      topics: [topic],
      group: groupId,
      retry: { topics: [{ delayMs: MINUTE_MS }] },
    })
    await intake.untilDelivered(1)
    const sentAt = Date.now()
    const firstFailureAt = Date.parse('2024-01-01')
    await publisher.retryLater?.(retryCopyOf(intake.at('0@0').message, { firstFailureAt, delayMs: MINUTE_MS }))
    const [copy] = await cluster.read(`${topic}.${groupId}.retry-1`, 1)
    expect(copy?.key).toEqual(Buffer.from([0xff, 0x00]))
    expect(copy?.value).toEqual(Buffer.from([0x01, 0xfe]))
    expect(copy?.headers).toMatchObject({
      'message-id': 'm-1',
      traceparent: '00-ab',
      twice: ['a', 'b'],
      empty: '',
      'consume-once-origin-topic': topic,
      'consume-once-origin-partition': '0',
      'consume-once-origin-offset': '0',
      'consume-once-origin-key-present': 'true',
      'consume-once-key': DEAD_LETTER_KEY,
      'consume-once-attempts': '1',
      'consume-once-first-failure-at': '2024-01-01T00:00:00.000Z',
      'consume-once-error-class': 'TerminalError',
      'consume-once-detail': 'card declined',
      'consume-once-consumer': 'sms-sender',
      'consume-once-group': 'sms',
    })
    expect(Object.keys(copy?.headers ?? {})).toContain('__proto__')
    const notBefore = Number(copy?.headers['consume-once-not-before'])
    expect(notBefore).toBeGreaterThanOrEqual(sentAt + MINUTE_MS)
    expect(notBefore).toBeLessThanOrEqual(Date.now() + MINUTE_MS)
  })

  it('goes to the topic of its attempt, then again and again to the last', async () => {
    const [topic, own, groupId] = [await cluster.topic(), uniqueName('own'), uniqueName('group')]
    const { publisher } = await openWith({
      topics: [topic],
      group: groupId,
      retry: { topics: [{ delayMs: MINUTE_MS }, { delayMs: 10 * MINUTE_MS, topic: own }] },
    })
    expect([1, 2, 3].map((attempts) => publisher.retryDelayMs?.(attempts))).toEqual([
      MINUTE_MS,
      10 * MINUTE_MS,
      10 * MINUTE_MS,
    ])
    for (const attempts of [1, 2, 3]) await publisher.retryLater?.(retryCopyOf(messageOn(topic), { attempts }))
    const [first] = await cluster.read(`${topic}.${groupId}.retry-1`, 1)
    expect(first?.headers['consume-once-attempts']).toBe('1')
    const later = await cluster.read(own, 2)
    expect(later.map(({ headers }) => headers['consume-once-attempts'])).toEqual(['2', '3'])
  })

  it('of a copy keeps the coordinates and the first failure of the first', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const { publisher, intake } = await openWith({
      topics: [topic],
      group: groupId,
      retry: { topics: [{ delayMs: 1 }] },
    })
    const firstFailureAt = Date.parse('2024-01-01')
    const original = messageOn(topic, { position: '7@99', headers: { 'message-id': 'm-1' } })
    await publisher.retryLater?.(retryCopyOf(original, { firstFailureAt, delayMs: 1 }))
    await intake.untilDelivered(1)
    const copy = intake.at('0@0').message
    expect(copy).toMatchObject({ destination: `${topic}.${groupId}.retry-1`, origin: topic })
    await publisher.retryLater?.(retryCopyOf(copy, { attempts: 2, errorClass: undefined, delayMs: 1 }))
    const [, again] = await cluster.read(`${topic}.${groupId}.retry-1`, 2)
    expect(again?.headers).toMatchObject({
      'message-id': 'm-1',
      'consume-once-origin-topic': topic,
      'consume-once-origin-partition': '7',
      'consume-once-origin-offset': '99',
      'consume-once-origin-timestamp': '1700000000000',
      'consume-once-attempts': '2',
      'consume-once-first-failure-at': '2024-01-01T00:00:00.000Z',
    })
    expect(again?.headers).not.toHaveProperty('consume-once-error-class')
  })

  it('that fails for good is a dead letter of its origin, with the coordinates of the first', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const { publisher, intake } = await openWith({
      topics: [topic],
      group: groupId,
      retry: { topics: [{ delayMs: 1 }] },
    })
    await publisher.retryLater?.(retryCopyOf(messageOn(topic, { position: '7@99' }), { delayMs: 1 }))
    await intake.untilDelivered(1)
    await publisher.deadLetter(deadLetterOf(intake.at('0@0').message))
    const [deadLetter] = await cluster.read(`${topic}.dead-letter`, 1)
    expect(deadLetter?.headers).toMatchObject({
      'consume-once-origin-topic': topic,
      'consume-once-origin-partition': '7',
      'consume-once-origin-offset': '99',
    })
    expect(deadLetter?.headers).not.toHaveProperty('consume-once-not-before')
  })

  it('of several topics finds its way by its origin, also through a topic that all share', async () => {
    const [one, two, shared] = [await cluster.topic(2), await cluster.topic(3), uniqueName('shared')]
    const groupId = uniqueName('group')
    const { publisher, intake } = await openWith({
      topics: [one, two],
      group: groupId,
      retry: { topics: [{ delayMs: 1 }, { delayMs: 2, topic: shared }] },
    })
    for (const topic of [one, two]) {
      const deadLetter = retryCopyOf(messageOn(topic, { value: Buffer.from(topic) }), { delayMs: 1 })
      await publisher.retryLater?.(deadLetter)
      await publisher.retryLater?.({ ...deadLetter, attempts: 2 })
    }
    await intake.untilDelivered(4)
    const came = intake.deliveries.map(
      ({ message }) => `${message.destination} ${message.origin} ${String(message.value)}`,
    )
    expect(came.toSorted()).toEqual(
      [one, two]
        .flatMap((topic) => [`${topic}.${groupId}.retry-1 ${topic} ${topic}`, `${shared} ${topic} ${topic}`])
        .toSorted(),
    )
    for (const { message } of intake.deliveries) await publisher.deadLetter(deadLetterOf(message))
    expect(await cluster.read(`${one}.dead-letter`, 2)).toHaveLength(2)
    expect(await cluster.read(`${two}.dead-letter`, 2)).toHaveLength(2)
    for (const [retry, count] of [
      [`${one}.${groupId}.retry-1`, 2],
      [shared, 3],
    ] as const) {
      const { topics } = await cluster.admin.fetchTopicMetadata({ topics: [retry] })
      expect(topics[0]?.partitions).toHaveLength(count)
    }
  })

  it('that a stranger put on a retry topic is a message like any other', async () => {
    const [one, two, shared] = [await cluster.topic(), await cluster.topic(), await cluster.topic()]
    const groupId = uniqueName('group')
    const { publisher, intake } = await openWith({
      topics: [one, two],
      group: groupId,
      retry: { topics: [{ delayMs: MINUTE_MS, topic: shared }] },
    })
    await cluster.send(shared, ['v'])
    await intake.untilDelivered(1)
    const { message } = intake.at('0@0')
    expect(message.origin).toBe(shared)
    await publisher.deadLetter(deadLetterOf(message))
    const [deadLetter] = await cluster.read(`${one}.dead-letter`, 1)
    expect(deadLetter?.headers['consume-once-origin-topic']).toBe(shared)
  })

  it('that is too large goes without its explanation, and never without a header of the user', async () => {
    const [topic, own] = [await cluster.topic(), await cluster.topic(1, { 'max.message.bytes': '2000' })]
    const { publisher } = await openWith({
      topics: [topic],
      retry: { topics: [{ delayMs: MINUTE_MS, topic: own }] },
    })
    const message = messageOn(topic, { headers: { 'message-id': 'm-1', large: Buffer.alloc(800) } })
    await publisher.retryLater?.(retryCopyOf(message, { detail: 'x'.repeat(1_000) }))
    const [copy] = await cluster.read(own, 1)
    expect(copy?.headers).toMatchObject({ 'message-id': 'm-1', 'consume-once-origin-topic': topic })
    expect(copy?.headers['large']).toHaveLength(800)
    expect(copy?.headers).not.toHaveProperty('consume-once-detail')
    const tooLarge = publisher.retryLater?.(retryCopyOf(messageOn(topic, { value: Buffer.alloc(3_000) })))
    await expect(tooLarge).rejects.toMatchObject({
      code: 'BROKER_PUBLISH_REFUSED',
      message: expect.stringContaining(`retry copy of ${topic}/2@17 to ${own} was not confirmed`),
    })
  })

  it('is refused while its topic takes nothing so large, and sent when it does', async () => {
    const [topic, own] = [await cluster.topic(), await cluster.topic(1, { 'max.message.bytes': '10' })]
    const { publisher } = await openWith({ topics: [topic], retry: { topics: [{ delayMs: MINUTE_MS, topic: own }] } })
    const publish = async (): Promise<unknown> => publisher.retryLater?.(retryCopyOf(messageOn(topic)))
    await expect(publish()).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    const configEntries = [{ name: 'max.message.bytes', value: '100000' }]
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: own, configEntries }]
    await cluster.admin.alterConfigs({ validateOnly: false, resources })
    await eventually(() =>
      publish().then(
        () => true,
        () => false,
      ),
    )
    expect(await cluster.read(own, 1)).toHaveLength(1)
  })
})

describe('retry topics', () => {
  it('are created with as many partitions as their source, and told', async () => {
    const [topic, groupId] = [await cluster.topic(3), uniqueName('group')]
    const { intake } = await openWith({ topics: [topic], group: groupId, retry: { topics: [{ delayMs: 1 }] } })
    const retry = `${topic}.${groupId}.retry-1`
    expect(intake.told('retry-topic')).toEqual([`${retry} was created`])
    const { topics } = await cluster.admin.fetchTopicMetadata({ topics: [retry] })
    expect(topics[0]?.partitions).toHaveLength(3)
  })

  it("that are missing are all named by setup: 'check', beside the dead-letter topics", async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const opening = openWith({
      topics: [topic],
      group: groupId,
      setup: 'check',
      retry: { topics: [{ delayMs: 1 }, { delayMs: 2 }] },
    })
    await expect(opening).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      problems: [`${topic}.dead-letter`, `${topic}.${groupId}.retry-1`, `${topic}.${groupId}.retry-2`].map((name) =>
        expect.stringContaining(`${name} does not exist; create it, or set setup: 'auto'`),
      ),
    })
  })

  it('that are smaller than their source are told', async () => {
    const [topic, small] = [await cluster.topic(), await cluster.topic(1, { 'max.message.bytes': '1000' })]
    const { intake } = await openWith({ topics: [topic], retry: { topics: [{ delayMs: 1, topic: small }] } })
    expect(intake.told('retry-topic')).toEqual([expect.stringContaining(`max.message.bytes of ${small} is 1000`)])
  })

  it('that forget messages before they are due, or keep one of each key, are refused', async () => {
    const [topic, short] = [await cluster.topic(), await cluster.topic(1, { 'retention.ms': '60000' })]
    const compacted = await cluster.topic(1, { 'cleanup.policy': 'compact' })
    const opening = openWith({
      topics: [topic],
      retry: {
        topics: [
          { delayMs: 60_000, topic: short },
          { delayMs: 60_001, topic: compacted },
        ],
      },
    })
    await expect(opening).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      problems: [
        expect.stringContaining(`expected retention.ms of more than the delay (60000), got ${short} with 60000`),
        expect.stringContaining(`got ${compacted}, which is compacted`),
      ],
    })
  })

  it('are refused for strategy offsets: it handles a partition in its order', async () => {
    const store = new MemoryOffsets()
    const consumer = defineConsumer({ name: 'sms', store, handle: () => {} })
    const options = {
      topics: [await cluster.topic()],
      group: uniqueName('group'),
      retry: { topics: [{ delayMs: 1 }] },
    }
    await expect(runKafka(cluster.kafka(), consumer, options)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('retry places: expected none with a store of strategy offsets'),
    })
  })
})
