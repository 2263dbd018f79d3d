import { afterEach, describe, expect, it } from '@jest/globals'
import { rabbitSubscription } from '../../adapters/amqplib/index.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import {
  defineConsumer,
  messageId,
  TerminalError,
  type ConfiguredConsumer,
  type ConsumerSettings,
  type Subscription,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { search, searchedPlaces, type SearchResult } from '../../src/replay/find/search.ts'
import { redrive } from '../../src/replay/index.ts'
import { eventually } from '../kit/eventually.ts'
import { openedOnce } from '../kit/opened.ts'
import { Consumers } from './consumers.ts'
import { Rabbit } from './rabbit.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

/** One message for each value of its header `id`. */
async function sendEach(queue: string, values: readonly unknown[]): Promise<void> {
  const headersOf = (text: string): Record<string, unknown> => ({ id: values[Number(text)] })
  await rabbit.send(
    queue,
    values.map((_, at) => String(at)),
    { headersOf },
  )
}

describe('the ID from a header of RabbitMQ', () => {
  it('42 is the ID "42", whatever type of number the producer took', async () => {
    const queue = rabbit.name()
    const handled: string[] = []
    const settings = { id: messageId.header('id'), onConflict: 'duplicate' } as const
    const { watching } = await consumers.run(rabbit.url, { queue }, ({ payload }) => handled.push(payload), settings)
    const typed = ['int8', 'uint8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'double', 'float'] as const
    const values = ['42', ...typed.map((type) => ({ '!': type, value: 42 })), [42, '42']]
    await sendEach(queue, values)
    await watching.until(() => watching.ended('joined') + watching.ended('duplicate') === values.length - 1)
    expect(handled).toHaveLength(1)
    expect(watching.ended('dead-lettered')).toBe(0)
  })

  it('of any other type is none, and the dead letter says where it was looked for and what was there', async () => {
    const queue = rabbit.name()
    const { watching } = await consumers.run(rabbit.url, { queue }, () => {}, { id: messageId.header('id') })
    const found: readonly (readonly [value: unknown, found: string])[] = [
      [true, 'holds a boolean'],
      [1.5, 'holds a number with a fraction'],
      [{ '!': 'int64', value: '9007199254740993' }, 'holds a number that may have lost digits'],
      [{ '!': 'timestamp', value: 42 }, 'holds a timestamp'],
      [{ '!': 'decimal', value: { places: 0, digits: 42 } }, 'holds a decimal'],
      [{ secret: 'table' }, 'holds an object'],
      [null, 'holds null'],
      ['', 'holds empty text'],
      [['a', 'b'], 'is repeated with different values'],
    ]
    await sendEach(
      queue,
      found.map(([value]) => value),
    )
    await watching.untilOutcomes('dead-lettered', found.length)
    const deadLetters = await rabbit.takeLeft(`${queue}.dead-letter`)
    const told = deadLetters.map(({ body, properties: { headers = {} } }) => [
      Number(body),
      `${String(headers['consume-once-reason'])}: ${String(headers['consume-once-detail'])}`,
    ])
    expect(Object.fromEntries(told)).toEqual(
      Object.fromEntries(
        found.map(([, what], at) => [
          at,
          `no-id: no message ID: header id ${what}; expected text, bytes or a whole number up to 2^53 - 1`,
        ]),
      ),
    )
  })
})

function refuse(): never {
  throw new TerminalError('no')
}

/** As a person looks into it: it runs nothing. */
function entryOf(
  subscription: Subscription,
  { name, store, scope }: Pick<ConsumerSettings<unknown, unknown, never>, 'name' | 'store' | 'scope'>,
): ConfiguredConsumer {
  const named = scope === undefined ? { name } : { name, scope }
  return { consumer: defineConsumer({ ...named, store, id: messageId.property(), handle: () => {} }), subscription }
}

function found10(entry: ConfiguredConsumer): Promise<SearchResult<ConfiguredConsumer>> {
  const how = { lookAtMost: 10, findAtMost: 10, clock: systemClock }
  return search(searchedPlaces(entry, { topics: false }), how).result
}

describe('after a rename, with the former names in its scope', () => {
  it('a consumer and its queue repeat no effect, nor does a copy that was made under the former name', async () => {
    const [former, queue, store] = [rabbit.name(), rabbit.name(), memoryStore()]
    const handled: string[] = []
    const handle = ({ payload }: { readonly payload: string }): unknown => handled.push(payload)
    await rabbit.declare(former)
    await rabbit.send(former, ['a', 'b'])
    const before = await consumers.run(rabbit.url, { queue: former }, handle, { name: 'sms', store })
    await eventually(() => before.watching.ended('handled') === 2)
    await before.running.stop()

    await rabbit.declare(queue)
    await rabbit.send(queue, ['a', 'c'])
    await rabbit.send(queue, ['b'], { headersOf: () => ({ 'consume-once-origin-queue': former }) })
    const scope = { name: 'sms', queue: former }
    const { watching } = await consumers.run(rabbit.url, { queue }, handle, { name: 'texts', store, scope })
    await eventually(() => watching.ended('duplicate') === 2 && watching.ended('handled') === 1)
    expect(handled.toSorted()).toEqual(['a', 'b', 'c'])
  })

  it('dead letters of the former queue are found, and go back to the present one', async () => {
    const [former, queue, store] = [rabbit.name(), rabbit.name(), memoryStore()]
    await rabbit.declare(former)
    await rabbit.send(former, ['a'])
    const before = await consumers.run(rabbit.url, { queue: former }, refuse, { name: 'sms', store })
    await before.watching.untilOutcomes('dead-lettered', 1)
    await before.running.stop()
    await eventually(async () => (await rabbit.ready(`${former}.dead-letter`)) === 1)

    const handled: string[] = []
    const settings = { name: 'texts', store, scope: { name: 'sms', queue: former } }
    const handle = ({ payload }: { readonly payload: string }): unknown => handled.push(payload)
    const { watching } = await consumers.run(rabbit.url, { queue }, handle, settings)
    const subscription = rabbitSubscription(rabbit.url, { queue })
    const another = entryOf(subscription, { name: 'texts', store })
    const stray = { from: `rabbitmq:${former}.dead-letter`, unknown: 'handle' } as const
    await expect(redrive(another.consumer, subscription, stray).result).resolves.toMatchObject({
      totals: { 'refused-destination': 1 },
      refusedDestinations: { [former]: 1 },
    })

    const entry = entryOf(subscription, settings)
    const found = await found10(entry)
    expect(found).toMatchObject({
      messages: [{ message: { from: `rabbitmq:${former}.dead-letter`, state: 'given-up' } }],
      problems: [],
    })
    const why = { dryRun: false, by: 'kim', reason: 'renamed' }
    await expect(redrive(entry.consumer, subscription, why).result).resolves.toMatchObject({
      from: [`rabbitmq:${queue}.dead-letter`, `rabbitmq:${former}.dead-letter`],
      totals: { redriven: 1 },
      destinations: { [queue]: 1 },
    })
    await watching.until(() => watching.ended('handled') === 1)
    expect(handled).toEqual(['a'])
  })

  it('a former place that does not exist is passed over', async () => {
    const queue = rabbit.name()
    const settings = { name: 'texts', store: memoryStore(), scope: { queue: rabbit.name() } }
    await consumers.run(rabbit.url, { queue }, () => {}, settings)
    const subscription = rabbitSubscription(rabbit.url, { queue })
    const entry = entryOf(subscription, settings)
    await expect(found10(entry)).resolves.toMatchObject({ messages: [], problems: [], looked: [{ looked: 0 }] })
    await expect(redrive(entry.consumer, subscription, {}).result).resolves.toMatchObject({
      from: [`rabbitmq:${queue}.dead-letter`],
    })
  })

  it('the words of Kafka are refused at the start: the queue is group and origin', async () => {
    const [queue, scope] = [rabbit.name(), { group: 'sms' }]
    await expect(consumers.run(rabbit.url, { queue }, () => {}, { scope })).rejects.toThrow(
      `scope: expected queue on RabbitMQ, got group: { queue: 'the former queue' }`,
    )
  })
})
