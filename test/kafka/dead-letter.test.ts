import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { kafkaSource } from '../../adapters/kafkajs/client.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster } from './kit.ts'
import { DEAD_LETTER_KEY, deadLetterOf, messageOn } from './dead-letters.ts'
import { ScriptedKafka } from './scripted.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

/** Not longer ago than the broker keeps messages: it counts from here. */
const SENT_AT = String(Date.now() - 60_000)

describe('a dead letter', () => {
  it('keeps key, value and headers as they are, and says where it comes from and why', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    await cluster.send(topic, [
      {
        key: Buffer.from([0xff, 0x00]),
        value: Buffer.from([0x01, 0xfe]),
        timestamp: SENT_AT,
        headers: { 'message-id': 'm-1', traceparent: '00-ab', twice: ['a', 'b'], toString: 's', ['__proto__']: 'p' },
      },
    ])
    const { publisher, intake } = await cluster.open({ topics: [topic], group: groupId })
    await intake.untilDelivered(1)
    const firstFailureAt = Date.parse('2024-01-01')
    await publisher.deadLetter(deadLetterOf(intake.at('0@0').message, { parked: true, firstFailureAt }))
    const [copy] = await cluster.read(`${topic}.dead-letter`, 1)
    expect(copy?.key).toEqual(Buffer.from([0xff, 0x00]))
    expect(copy?.value).toEqual(Buffer.from([0x01, 0xfe]))
    expect(copy?.headers).toMatchObject({
      'message-id': 'm-1',
      traceparent: '00-ab',
      twice: ['a', 'b'],
      'consume-once-origin-topic': topic,
      'consume-once-origin-partition': '0',
      'consume-once-origin-offset': '0',
      'consume-once-origin-timestamp': SENT_AT,
      'consume-once-origin-key-present': 'true',
      'consume-once-key': DEAD_LETTER_KEY,
      'consume-once-reason': 'fatal',
      'consume-once-parked': 'true',
      'consume-once-attempts': '3',
      'consume-once-error-class': 'TerminalError',
      'consume-once-detail': 'card declined',
      'consume-once-consumer': 'sms-sender',
      'consume-once-group': 'sms',
    })
    expect(String(copy?.headers['consume-once-dead-lettered-at'])).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(copy?.headers['consume-once-first-failure-at']).toBe('2024-01-01T00:00:00.000Z')
    expect(Object.keys(copy?.headers ?? {})).toEqual(expect.arrayContaining(['toString', '__proto__']))
  })

  it('of a tombstone without a key is one too, and bounds what it says', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const { publisher } = await cluster.open({ topics: [topic], group: groupId })
    const message = messageOn(topic, { key: null, value: null, headers: { empty: null } })
    await publisher.deadLetter(deadLetterOf(message, { detail: 'x'.repeat(5_000), errorClass: undefined }))
    const [copy] = await cluster.read(`${topic}.dead-letter`, 1)
    expect([copy?.key, copy?.value]).toEqual([null, null])
    expect(copy?.headers).toMatchObject({ 'consume-once-origin-key-present': 'false', empty: '' })
    expect(copy?.headers).not.toHaveProperty('consume-once-error-class')
    expect(copy?.headers['consume-once-detail']).toHaveLength(1_024)
  })

  it('of a copy keeps the coordinates of the first, and goes where those of the first go', async () => {
    const [orders, retries, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
    const original = {
      'consume-once-origin-topic': orders,
      'consume-once-origin-partition': '7',
      'consume-once-origin-offset': '99',
      'consume-once-attempts': '1',
    }
    await cluster.send(retries, [{ value: 'v', headers: original }])
    const retry = { topics: [{ delayMs: 1, topic: retries }] }
    const { publisher, intake } = await cluster.open({ topics: [orders], group: groupId, retry })
    await intake.untilDelivered(1)
    const { message } = intake.at('0@0')
    expect(message).toMatchObject({ destination: retries, origin: orders })
    await publisher.deadLetter(deadLetterOf(message))
    const [copy] = await cluster.read(`${orders}.dead-letter`, 1)
    expect(copy?.headers).toMatchObject({ ...original, 'consume-once-attempts': '3' })
    expect(copy?.headers).not.toHaveProperty('consume-once-origin-timestamp')
  })

  it('never comes back to the group it comes from, and no header names its topic', async () => {
    const [orders, groupId] = [await cluster.topic(), uniqueName('group')]
    const dead = `${orders}.dead-letter`
    await cluster.open({ topics: [orders], group: groupId })
    const { publisher } = await cluster.open({ topics: [dead], group: uniqueName('repair') })
    await publisher.deadLetter(deadLetterOf(messageOn(dead, { origin: orders })))
    const [copy] = await cluster.read(`${dead}.dead-letter`, 1)
    expect(copy?.headers).toMatchObject({ 'consume-once-origin-topic': orders })
  })

  it('that is too large goes without what is not necessary', async () => {
    const [topic, groupId] = [await cluster.topic(1, { 'max.message.bytes': '20000' }), uniqueName('group')]
    const dead = await cluster.topic(1, { 'max.message.bytes': '20000' })
    const { publisher, intake } = await cluster.open({ topics: [topic], group: groupId, deadLetter: { topic: dead } })
    const headers = { traceparent: '00-ab', large: Buffer.alloc(15_000) }
    await publisher.deadLetter(deadLetterOf(messageOn(topic, { value: Buffer.alloc(10_000), headers })))
    const [copy] = await cluster.read(dead, 1)
    expect(copy?.value).toHaveLength(10_000)
    expect(Object.keys(copy?.headers ?? {}).toSorted()).toEqual([
      'consume-once-attempts',
      'consume-once-dead-lettered-at',
      'consume-once-first-failure-at',
      'consume-once-group',
      'consume-once-key',
      'consume-once-origin-key-present',
      'consume-once-origin-offset',
      'consume-once-origin-partition',
      'consume-once-origin-timestamp',
      'consume-once-origin-topic',
      'consume-once-reason',
      'traceparent',
    ])
    const tooLarge = publisher.deadLetter(deadLetterOf(messageOn(topic, { value: Buffer.alloc(21_000) })))
    await expect(tooLarge).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    await publisher.deadLetter(deadLetterOf(messageOn(topic)))
    expect(intake.told('dead-letter-topic')).toEqual([])
  })
})

describe('a dead-letter topic', () => {
  it('that was created has room for the headers of the largest message', async () => {
    const [topic, groupId] = [await cluster.topic(1, { 'max.message.bytes': '30000' }), uniqueName('group')]
    const { publisher } = await cluster.open({ topics: [topic], group: groupId })
    await publisher.deadLetter(deadLetterOf(messageOn(topic, { value: Buffer.alloc(29_900) })))
    const [copy] = await cluster.read(`${topic}.dead-letter`, 1)
    expect(copy?.headers).toHaveProperty('consume-once-detail')
  })

  it('that vanishes is made again, or refuses: a letter is never believed to be sent', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const { publisher } = await cluster.open({ topics: [topic], group: groupId })
    await publisher.deadLetter(deadLetterOf(messageOn(topic)))
    await cluster.admin.deleteTopics({ topics: [`${topic}.dead-letter`] })
    const second = deadLetterOf(messageOn(topic, { value: Buffer.from('second') }))
    const refusals: unknown[] = []
    await eventually(() =>
      publisher.deadLetter(second).then(
        () => true,
        (error: unknown) => {
          refusals.push(error)
          return false
        },
      ),
    )
    for (const error of refusals) expect(error).toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    const [copy] = await cluster.read(`${topic}.dead-letter`, 1)
    expect(String(copy?.value)).toBe('second')
  })
})

const confirmed = async (): ReturnType<ScriptedKafka['sendAnswers'][number]> => [
  { topicName: 't.dead-letter', partition: 0, errorCode: 0 },
]

describe('the answer to a dead letter', () => {
  it.each([
    ['is empty: kafkajs knew no leader (P2)', async () => []],
    ['names two partitions', async () => [...(await confirmed()), ...(await confirmed())]],
    ['carries an error', async () => [{ topicName: 't.dead-letter', partition: 0, errorCode: 6 }]],
    ['names no partition', async () => [{ topicName: 't.dead-letter', partition: -1, errorCode: 0 }]],
    ['never comes', () => Promise.reject(new Error('The producer is disconnected'))],
  ])('that %s is a refusal, and the producer is built anew', async (_what, answer) => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t', 't.dead-letter')
    kafka.sendAnswers.push(answer, confirmed)
    const { source, publisher } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group') })
    const publishing = publisher.deadLetter(deadLetterOf(messageOn('t')))
    await expect(publishing).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    await publisher.deadLetter(deadLetterOf(messageOn('t')))
    expect(kafka.producers).toBe(2)
    await source.close()
  })

  it('is that of all replicas, to one message alone, from a producer without a sequence to lose (P1, P3)', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t', 't.dead-letter')
    kafka.sendAnswers.push(confirmed)
    const { source, publisher } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group') })
    await Promise.all(
      ['a', 'b'].map((text) => publisher.deadLetter(deadLetterOf(messageOn('t', { value: Buffer.from(text) })))),
    )
    const send = { acks: -1, messages: 1, idempotent: false }
    expect(kafka.sent).toEqual([send, send])
    await source.close()
  })

  it('is not needed by a source that has none: no producer is made', async () => {
    const kafka = new ScriptedKafka()
    kafka.topics.push('t')
    const { source } = kafkaSource(kafka, { topics: ['t'], group: uniqueName('group') })
    await source.open(new RecordingIntake())
    await source.close()
    expect(kafka.producers).toBe(0)
  })
})
