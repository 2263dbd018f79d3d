import { afterEach, describe, expect, it } from '@jest/globals'
import type { IHeaders } from 'kafkajs'
import { runKafka } from '../../adapters/kafkajs/index.ts'
import type { DeadLetterHeaders } from '../../adapters/kafka/options/options.ts'
import { defineConsumer, messageId, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import type { ReplayItem } from '../../src/internal.ts'
import { uniqueName } from '../kit/namespace.ts'
import { openedOnce } from '../kit/opened.ts'
import { Watching } from '../kit/recording-intake.ts'
import { deadLetterOf, messageOn, retryCopyOf } from './dead-letters.ts'
import { Cluster, FAST } from './kit.ts'
import { placesOf, readAll } from './replay-kit.ts'

let cluster: Cluster
const started: Running[] = []

openedOnce(Cluster, (made) => (cluster = made))
afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 500 })))
  await cluster.closeSources()
})

/** Names that copies had before, and that Spring's have: a producer may use each of them. */
const OF_PRODUCER: IHeaders = {
  'x-attempts': '7',
  'x-consumer': 'theirs',
  'x-consumer-group': 'theirs',
  'x-error-class': 'E',
  'x-error-message': Buffer.from([0xff, 0x00, 0xfe]),
  'x-parked': ['no', Buffer.from([0x80])],
  'x-record-key': 'order-1',
  'x-not-before': 'noon',
  'x-dead-letter-reason': 'none',
  'x-set-aside-at': '',
  'x-first-failure-at': 'never',
  'x-original-topic': 'elsewhere',
  'x-original-key-present': 'maybe',
  'kafka_dlt-exception-fqcn': 'java.lang.Error',
  'x-exception-message': 'theirs',
}

async function headersIn(topic: string, count: number): Promise<readonly IHeaders[]> {
  await cluster.read(topic, count)
  const found: IHeaders[] = []
  await cluster.readAll(topic, ({ headers = {} }) => found.push(headers))
  return found
}

/** In kafkajs's form, and without those of the library. */
function ofProducer(headers: IHeaders): Record<string, unknown> {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith('consume-once-'))
  return Object.fromEntries(kept.map(([name, value]) => [name, [value].flat().map((one) => Buffer.from(one ?? ''))]))
}

async function republish(items: readonly ReplayItem[], destination: string): Promise<void> {
  const publisher = await placesOf(cluster, destination).publisher()
  await publisher.publish(items.map((item) => ({ item, destination, headers: { 'consume-once-replay-id': 'r1' } })))
  await publisher.close()
}

async function itemsOf(topic: string): Promise<readonly ReplayItem[]> {
  const reader = await placesOf(cluster, uniqueName('live')).open(topic)
  return readAll(reader, await reader.range({}))
}

describe("a producer's headers", () => {
  it.each<DeadLetterHeaders>(['own', 'spring', 'both'])(
    'stay as they are on each retry copy, on the dead letter and after a redrive, with header names %s',
    async (style) => {
      const [topic, group] = [await cluster.topic(), uniqueName('group')]
      const retry = `${topic}.${group}.retry-1`
      // Spring's names on a dead letter are written by choice.
      const headers = style === 'own' ? OF_PRODUCER : without(OF_PRODUCER, 'kafka_dlt-exception-fqcn')
      await cluster.send(topic, [{ key: 'k', value: 'v', headers }])
      const options = { topics: [topic], group, deadLetter: { headers: style }, retry: { topics: [{ delayMs: 1 }] } }
      const { publisher, intake } = await cluster.open(options)
      await intake.untilDelivered(1)
      await publisher.retryLater?.(retryCopyOf(intake.at('0@0').message, { delayMs: 1 }))
      await intake.untilDelivered(2)
      const copy = intake.deliveries.find(({ message }) => message.destination === retry)?.message
      await publisher.retryLater?.(retryCopyOf(copy ?? messageOn(topic), { attempts: 2, delayMs: 1 }))
      await publisher.deadLetter(deadLetterOf(copy ?? messageOn(topic), { parked: true }))
      const expected = ofProducer(headers)
      const onRetries = await headersIn(retry, 2)
      expect(onRetries.map(ofProducer)).toEqual([expected, expected])
      const [onDeadLetter = {}] = await headersIn(`${topic}.dead-letter`, 1)
      expect(ofProducer(onDeadLetter)).toMatchObject(expected)

      await republish(await itemsOf(`${topic}.dead-letter`), topic)
      const [, redriven = {}] = await headersIn(topic, 2)
      expect(ofProducer(redriven)).toEqual(expected)
    },
  )

  it('are what an ID is read from: a message that failed is the same one, and its repeat is a duplicate', async () => {
    const [topic, group] = [await cluster.topic(), uniqueName('group')]
    const watching = new Watching()
    const attempts: number[] = []
    const consumer = defineConsumer({
      name: 'sms',
      id: messageId.header('x-attempts'),
      store: memoryStore(),
      handle: (ctx) => {
        attempts.push(ctx.attempt)
        if (ctx.attempt < 3) throw new Error('not yet')
      },
      observe: watching.observe,
    })
    const sent = { value: '1', headers: { 'x-attempts': '7' } }
    await cluster.send(topic, [sent])
    const options = { ...FAST, topics: [topic], group, retry: { topics: [{ delayMs: 1 }] } }
    started.push(await runKafka(cluster.kafka(), consumer, options))
    await cluster.untilCommitted(group, `${topic}.${group}.retry-1`, [2])
    await cluster.send(topic, [sent])
    await cluster.untilCommitted(group, topic, [2])
    expect(attempts).toEqual([1, 2, 3])
    expect(watching.ended('duplicate')).toBe(1)
  })
})

describe('an origin that a header names', () => {
  it('is believed on a retry topic, and not on a topic of the group if it names another of these [T292]', async () => {
    const [orders, payments, retry] = [await cluster.topic(), await cluster.topic(), await cluster.topic()]
    const group = uniqueName('group')
    const { publisher, intake } = await cluster.open({
      topics: [orders, payments],
      group,
      retry: { topics: [{ delayMs: 1, topic: retry }] },
    })
    const headers = { 'consume-once-origin-topic': payments, 'consume-once-origin-offset': '99' }
    await cluster.send(orders, [{ value: 'forged', headers }])
    await cluster.send(retry, [{ value: 'copy', headers }])
    await intake.untilDelivered(2)
    const origins = intake.deliveries.map(({ message }) => `${String(message.value)} ${message.origin}`)
    expect(origins.toSorted()).toEqual([`copy ${payments}`, `forged ${orders}`])

    const forged = intake.deliveries.find(({ message }) => message.destination === orders)?.message
    await publisher.deadLetter(deadLetterOf(forged ?? messageOn('none')))
    const [deadLetter] = await cluster.read(`${orders}.dead-letter`, 1)
    expect(deadLetter?.headers).toMatchObject({
      'consume-once-origin-topic': orders,
      'consume-once-origin-offset': '0',
    })
  })
})

function without(headers: IHeaders, name: string): IHeaders {
  const { [name]: _, ...others } = headers
  return others
}
