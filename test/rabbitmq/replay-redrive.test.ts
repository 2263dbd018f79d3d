import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ReplayItem, ReplayPlaces } from '../../src/internal.ts'
import { TerminalError } from '../../src/index.ts'
import { eventually } from '../kit/eventually.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { Consumers } from './consumers.ts'
import { Rabbit } from './rabbit.ts'
import { Reader } from './reader.ts'
import { placesAt, readAll, settleAll, textOf } from './replay.ts'

let rabbit: Rabbit
const consumers = new Consumers()

beforeAll(async () => {
  rabbit = await Rabbit.open()
}, SERVER_WITHIN_MS)
afterAll(() => rabbit[Symbol.asyncDispose]())

const REPLAY = { 'consume-once-replay-id': 'r1', 'consume-once-replay-count': '1' }

function refuse(): never {
  throw new TerminalError('no')
}

/** Dead letters of a consumer of this library, whose handler refuses every message. */
async function refusedDeadLetters(
  texts: readonly string[],
  properties: Parameters<Rabbit['send']>[2] = {},
): Promise<string> {
  const queue = rabbit.name()
  const { watching } = await consumers.run(rabbit.url, { queue }, refuse, { concurrency: 1 })
  await rabbit.send(queue, texts, properties)
  await watching.untilOutcomes('dead-lettered', texts.length)
  await consumers.end()
  await eventually(async () => (await rabbit.ready(`${queue}.dead-letter`)) === texts.length)
  return queue
}

async function redriven(places: ReplayPlaces, from: string, to?: string): Promise<readonly ReplayItem[]> {
  const reader = await places.open(from)
  const items = await readAll(reader, await reader.range({}))
  const publisher = await places.publisher()
  try {
    await publisher.publish(
      items.map((item) => ({ item, destination: to ?? item.deadLetter?.destination ?? '', headers: REPLAY })),
    )
    await settleAll(items, 'done')
  } finally {
    await publisher.close()
    await reader.close()
  }
  return items
}

describe('dead letters of this library', () => {
  it('tell why they are there, and go back as they were sent', async () => {
    const sent = {
      headersOf: () => ({ tenant: 'a' }),
      contentType: 'text/plain',
      priority: 7,
      timestamp: 1_793_527_200,
    }
    const queue = await refusedDeadLetters(['a', 'b'], sent)
    const places = placesAt(rabbit.url, queue)
    const items = await redriven(places, places.deadLetters[0] ?? '')
    expect(items.map(textOf)).toEqual(['a', 'b'])
    expect(items[0]?.message).toMatchObject({ origin: queue, destination: `${queue}.dead-letter` })
    expect(items[0]?.deadLetter).toMatchObject({
      reason: 'handler-failed',
      parked: false,
      consumer: 'test',
      group: queue,
    })
    expect(items[0]?.deadLetter?.destination).toBe(queue)
    expect(await rabbit.takeLeft(`${queue}.dead-letter`)).toEqual([])
    const [first, second] = await rabbit.takeLeft(queue)
    expect([first?.body, second?.body]).toEqual(['a', 'b'])
    expect(first?.properties).toMatchObject({
      messageId: 'a',
      contentType: 'text/plain',
      priority: 7,
      timestamp: 1_793_527_200,
      deliveryMode: 2,
    })
    const { 'consume-once-publish-id': _id, 'x-delivery-count': _count, ...headers } = first?.properties.headers ?? {}
    expect(headers).toEqual({
      tenant: 'a',
      'consume-once-origin-queue': queue,
      'consume-once-origin-exchange': '',
      'consume-once-origin-routing-key': queue,
      ...REPLAY,
    })
  })

  it('keep what their producer sent: names of Spring and of other libraries, and each type of value', async () => {
    const sent = {
      'x-exception-message': 'theirs',
      'x-original-exchange': 'theirs',
      'x-original-routingKey': 'theirs',
      'x-attempts': 7,
      'x-parked': true,
      list: ['a', 1, Buffer.from([0xff])],
      table: { deep: { '!': 'timestamp', value: 1_793_527_200 } },
      double: 1.5,
      nothing: null,
    }
    const queue = await refusedDeadLetters(['a'], { headersOf: () => sent })
    const places = placesAt(rabbit.url, queue)
    await redriven(places, places.deadLetters[0] ?? '')
    const [back] = await rabbit.takeLeft(queue)
    const kept = Object.entries(back?.properties.headers ?? {}).filter(
      ([name]) => !/^consume-once-|^x-delivery/.test(name),
    )
    expect(Object.fromEntries(kept)).toEqual(sent)
  })

  it('keep the ID and the count of their replay when they are dead-lettered again', async () => {
    const queue = rabbit.name()
    const { watching } = await consumers.run(rabbit.url, { queue }, refuse)
    await rabbit.send(queue, ['a'], { headersOf: () => REPLAY })
    await watching.untilOutcomes('dead-lettered', 1)
    await consumers.end()
    const { properties } = await rabbit.take(`${queue}.dead-letter`)
    expect(properties.headers).toMatchObject(REPLAY)
  })
})

describe('dead letters of the broker', () => {
  it('go back to their queue, with the routing key of their first publication', async () => {
    const [queue, deadLetters, exchange] = [rabbit.name(), rabbit.name(), `${rabbit.name()}.x`]
    await rabbit.declare(deadLetters)
    await rabbit.declare(queue, {
      'x-queue-type': 'classic',
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': deadLetters,
    })
    await rabbit.ask(async (channel) => {
      await channel.assertExchange(exchange, 'topic', { autoDelete: true })
      await channel.bindQueue(queue, exchange, 'eu.#')
      channel.publish(exchange, 'eu.new', Buffer.from('m'), { messageId: 'm', headers: { tenant: 'a' } })
      await eventually(async () => (await rabbit.ready(queue)) === 1)
      const message = await channel.get(queue)
      if (message !== false) channel.nack(message, false, false)
      await eventually(async () => (await rabbit.ready(deadLetters)) === 1)
    })
    const [item] = await redriven(placesAt(rabbit.url, queue), deadLetters)
    expect(item?.message).toMatchObject({ origin: queue, destination: deadLetters, key: Buffer.from('eu.new') })
    expect(item?.deadLetter).toMatchObject({ reason: 'rejected', destination: queue, since: expect.any(Number) })
    const { properties } = await rabbit.take(queue)
    expect(properties.messageId).toBe('m')
    expect(properties.headers).toMatchObject({
      tenant: 'a',
      'consume-once-origin-exchange': exchange,
      'consume-once-origin-routing-key': 'eu.new',
    })
    expect(Object.keys(properties.headers ?? {}).filter((name) => name.startsWith('x-'))).toEqual([])
  })
})

describe('a dead letter that has used up a delivery limit', () => {
  it('survives a look, also where its count came with it', async () => {
    const [queue, deadLetters] = [rabbit.name(), rabbit.name()]
    const limited = { 'x-queue-type': 'quorum', 'x-delivery-limit': 2 }
    await rabbit.declare(deadLetters, limited)
    const target = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': deadLetters }
    await rabbit.declare(queue, { ...limited, ...target })
    await rabbit.send(queue, ['m'])
    const consumer = await Reader.open(rabbit.url, queue)
    for (let returns = 0; returns < 3; returns++) {
      await consumer.next()
      consumer.reject()
    }
    await eventually(async () => (await rabbit.ready(deadLetters)) === 1)
    await consumer.close()
    const reader = await placesAt(rabbit.url, queue).open(deadLetters)
    const reading = readAll(reader, await reader.range({}))
    const end = reading.then(
      (items) => items.map(textOf),
      (error: Error) => error.name,
    )
    expect(await end).toEqual(rabbit.isAtLeast(4, 3) ? 'ReplayError' : ['m'])
    await reader.close()
    const left = await rabbit.takeLeft(deadLetters)
    expect(left.map(({ body }) => body)).toEqual(['m'])
    expect(left[0]?.properties.headers).toMatchObject({ 'x-first-death-queue': queue })
  })
})

describe('the publisher', () => {
  it('publishes through an exchange without the origin, which other consumers do not share', async () => {
    const queue = await refusedDeadLetters(['a'])
    const [bound, exchange] = [rabbit.name(), `${rabbit.name()}.x`]
    await rabbit.declare(bound)
    await rabbit.ask(async (channel) => {
      await channel.assertExchange(exchange, 'topic', { autoDelete: true })
      await channel.bindQueue(bound, exchange, 'eu/#')
    })
    await rabbit.ask((channel) => channel.bindQueue(bound, exchange, 'eu/new'))
    await redriven(placesAt(rabbit.url, queue), `${queue}.dead-letter`, `${exchange}/eu/new`)
    const { body, properties } = await rabbit.take(bound)
    expect(body).toBe('a')
    expect(Object.keys(properties.headers ?? {}).filter((name) => name.includes('origin'))).toEqual([])
  })

  it('fails with the name of a queue that does not exist, and the dead letters stay', async () => {
    const queue = await refusedDeadLetters(['a', 'b'])
    const places = placesAt(rabbit.url, queue)
    const redriving = redriven(places, `${queue}.dead-letter`, `${queue}.gone`)
    await expect(redriving).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    await expect(redriving).rejects.toThrow(`NO_ROUTE (queue ${queue}.gone)`)
    expect((await rabbit.takeLeft(`${queue}.dead-letter`)).map(({ body }) => body)).toEqual(['a', 'b'])
  })

  it('publishes 2,500 messages in their order', async () => {
    const [from, to] = [rabbit.name(), rabbit.name()]
    await rabbit.declare(from, { 'x-queue-type': 'classic' })
    await rabbit.declare(to, { 'x-queue-type': 'classic' })
    const texts = Array.from({ length: 2500 }, (_, n) => `m${n}`)
    await rabbit.send(from, texts)
    const places = placesAt(rabbit.url, from)
    await redriven(places, from, to)
    const reader = await places.open(to)
    expect((await readAll(reader, await reader.range({}))).map(textOf)).toEqual(texts)
    await reader.close()
    expect(await rabbit.ready(from)).toBe(0)
  })
})
