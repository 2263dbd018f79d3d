import { openedOnce } from '../kit/opened.ts'
import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Options } from 'amqplib'
import type { Delivery } from '../../src/internal.ts'
import { Consumers, type Opened } from './consumers.ts'
import { deadLetterOf, deliveryAt, DEAD_LETTER_KEY, retryOf } from './dead-letters.ts'
import { Rabbit } from './rabbit.ts'
import { bodies } from './watching.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

function identity({ message }: Delivery): object {
  const { value, messageId, key, origin, destination, timestamp } = message
  return { value, messageId, key, origin, destination, timestamp }
}

const KEY = `order.${randomBytes(6).toString('hex')}`

/** One message, and what it is when it comes back from the delay queue. */
async function delayedOnce(
  send: Options.Publish,
  body: string,
): Promise<{ readonly first: Delivery; readonly copy: Delivery; readonly at: Opened }> {
  const queue = rabbit.name()
  const [delay = ''] = rabbit.delayQueues(queue, 50)
  const at = await consumers.open(rabbit.url, { queue, retry: { delayQueues: [50] } })
  // By a key that is not the name of the queue.
  await rabbit.ask(async (channel) => {
    await channel.bindQueue(queue, 'amq.topic', KEY)
    channel.publish('amq.topic', KEY, Buffer.from(body), send)
  })
  await at.intake.untilDelivered(1)
  const first = deliveryAt(at, 0)
  await at.publisher.retryLater?.(retryOf(first, { attempts: 3, firstFailureAt: 1_700_000_000_000 }))
  expect(first.settle()).toBe(true)
  await at.intake.untilDelivered(2)
  expect(delay).toBe(`${queue}.retry.50`)
  return { first, copy: deliveryAt(at, 1), at }
}

describe('a delayed copy', () => {
  it('is the same message: body, message ID, key, timestamp, scope and headers of its sender', async () => {
    const body = randomBytes(64).toString('latin1')
    const { first, copy } = await delayedOnce(
      { messageId: 'id-1', timestamp: 1_700_000_000, expiration: 60_000, headers: { tenant: 'a', 'x-own': 'kept' } },
      body,
    )
    expect(identity(copy)).toEqual(identity(first))
    expect(Buffer.from(copy.message.key ?? []).toString()).toBe(KEY)
    expect(copy.message.headers).toMatchObject({ tenant: 'a', 'x-own': 'kept' })
  })

  it('tells attempt, first sight, origin and when it was due', async () => {
    const before = Date.now()
    const { copy, at } = await delayedOnce({}, 'a')
    const queue = at.source.group
    expect(copy.message.headers).toMatchObject({
      'consume-once-key': DEAD_LETTER_KEY,
      'consume-once-attempts': 3,
      'consume-once-first-seen-at': '2023-11-14T22:13:20.000Z',
      'consume-once-first-failure-at': '2023-11-14T22:13:20.000Z',
      'consume-once-origin-queue': queue,
      'consume-once-origin-exchange': 'amq.topic',
      'consume-once-origin-routing-key': KEY,
      'consume-once-delay-queue': `${queue}.retry.50`,
      'consume-once-not-before': expect.any(Number),
    })
    const due = Number(copy.message.headers['consume-once-not-before'])
    expect(due).toBeGreaterThanOrEqual(before + 50)
    expect(due).toBeLessThanOrEqual(Date.now())
    expect(at.source.health().counts).toMatchObject({ delayed: 1, [`delayed-overdue-ms ${queue}.retry.50`]: 0 })
  })

  it('keeps first sight and origin over further copies, and no header of a broker', async () => {
    const { copy, at } = await delayedOnce({}, 'a')
    await at.publisher.retryLater?.(retryOf(copy, { attempts: 4 }))
    copy.settle()
    await at.intake.untilDelivered(3)
    const { message } = deliveryAt(at, 2)
    expect(message.headers).toMatchObject({
      'consume-once-attempts': 4,
      'consume-once-first-seen-at': '2023-11-14T22:13:20.000Z',
      'consume-once-origin-routing-key': KEY,
    })
    // One death: those before were not carried along.
    expect(message.headers['x-death']).toMatchObject([{ count: 1 }])
    expect(Buffer.from(message.key ?? []).toString()).toBe(KEY)
  })

  it('says of one that is busy nothing of a failure', async () => {
    const queue = rabbit.name()
    rabbit.delayQueues(queue, 50, 300, 100_000)
    const at = await consumers.open(rabbit.url, { queue, retry: { delayQueues: [300, 50, 100_000] } })
    await rabbit.send(queue, ['a'])
    await at.intake.untilDelivered(1)
    await at.publisher.retryLater?.(retryOf(deliveryAt(at, 0), { why: 'busy', attempts: 0, delayMs: 40 }))
    await at.intake.untilDelivered(2)
    const { headers } = deliveryAt(at, 1).message
    expect(headers).toMatchObject({ 'consume-once-delay-queue': `${queue}.retry.50`, 'consume-once-attempts': 0 })
    expect(headers).not.toHaveProperty(['consume-once-first-failure-at'])
  })

  it('waits as long as its attempts say, and one that is busy as long as the other may hold it', async () => {
    const queue = rabbit.name()
    const [short = '', middle = '', long = ''] = rabbit.delayQueues(queue, 50_000, 60_000, 70_000)
    const at = await consumers.open(rabbit.url, {
      queue,
      retry: { delayQueues: [60_000, 50_000, 70_000] },
    })
    expect([1, 2, 3, 9].map((attempts) => at.publisher.retryDelayMs?.(attempts))).toEqual([
      60_000, 50_000, 70_000, 70_000,
    ])
    expect(at.publisher.busyWaitMs).toBe(2_000)
    await rabbit.send(queue, ['a'])
    await at.intake.untilDelivered(1)
    const delivery = deliveryAt(at, 0)
    const ready = (): Promise<number[]> => Promise.all([short, middle, long].map((name) => rabbit.ready(name)))
    await at.publisher.retryLater?.(retryOf(delivery, { attempts: 1 }))
    expect(await ready()).toEqual([0, 1, 0])
    await at.publisher.retryLater?.(retryOf(delivery, { why: 'busy', attempts: 0, delayMs: 49_000 }))
    expect(await ready()).toEqual([1, 1, 0])
    await at.publisher.retryLater?.(retryOf(delivery, { why: 'busy', attempts: 0, delayMs: 900_000 }))
    expect(await ready()).toEqual([1, 1, 1])
  })
})

describe('a place that has vanished', () => {
  it('is declared again: a delay queue and a dead-letter queue', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 60_000)
    const at = await consumers.open(rabbit.url, { queue, retry: { delayQueues: [60_000] } })
    await rabbit.send(queue, ['a'])
    await at.intake.untilDelivered(1)
    await rabbit.delete(delay)
    await rabbit.delete(`${queue}.dead-letter`)
    await at.publisher.retryLater?.(retryOf(deliveryAt(at, 0)))
    await at.publisher.deadLetter(deadLetterOf(deliveryAt(at, 0)))
    expect(await rabbit.ready(delay)).toBe(1)
    expect(await rabbit.ready(`${queue}.dead-letter`)).toBe(1)
    expect(at.intake.told('queue-declared-again')).toHaveLength(2)
  })

  it('is waited for where it is not declared here', async () => {
    const queue = rabbit.name()
    const [delay = ''] = rabbit.delayQueues(queue, 60_000)
    await rabbit.declare(queue)
    const at = await consumers.open(rabbit.url, { queue, setup: 'off', retry: { delayQueues: [60_000] } })
    expect(at.intake.told('queue-mismatch')).toHaveLength(2)
    await rabbit.send(queue, ['a'])
    await at.intake.untilDelivered(1)
    const deadLetter = retryOf(deliveryAt(at, 0))
    await expect(at.publisher.retryLater?.(deadLetter)).rejects.toMatchObject({ code: 'BROKER_PUBLISH_REFUSED' })
    await rabbit.declare(delay)
    await at.publisher.retryLater?.(deadLetter)
    expect(await rabbit.ready(delay)).toBe(1)
    expect(at.source.health().counts).toMatchObject({ delayed: 1 })
  })
})

describe('a dead letter', () => {
  it('goes to an exchange of the user by a key of theirs, or its own, and nowhere unrouted', async () => {
    const [queue, byKey, byOwn] = [rabbit.name(), rabbit.name(), rabbit.name()]
    const exchange = `${queue}.exchange`
    await rabbit.declare(byKey)
    await rabbit.declare(byOwn)
    await rabbit.ask(async (channel) => {
      await channel.assertExchange(exchange, 'direct', { durable: true })
      await channel.bindQueue(byKey, exchange, 'dead')
    })
    try {
      const keyed = await consumers.open(rabbit.url, {
        queue,
        deadLetter: { exchange: exchange, routingKey: 'dead' },
      })
      await rabbit.send(queue, ['a'])
      await keyed.intake.untilDelivered(1)
      const deadLetter = deadLetterOf(deliveryAt(keyed, 0))
      await keyed.publisher.deadLetter(deadLetter)
      expect((await rabbit.take(byKey)).properties.headers).toMatchObject({ 'consume-once-reason': 'attempts-spent' })

      const { publisher } = consumers.broker(rabbit.url, { queue, deadLetter: { exchange: exchange } })
      await expect(publisher.deadLetter(deadLetter)).rejects.toThrow(/NO_ROUTE/)
      await rabbit.ask((channel) => channel.bindQueue(byOwn, exchange, queue))
      await publisher.deadLetter(deadLetter)
      expect((await rabbit.take(byOwn)).body).toBe('a')
    } finally {
      await rabbit.ask((channel) => channel.deleteExchange(exchange))
    }
  })

  it('is rejected to the dead-letter exchange of the queue where that was chosen', async () => {
    const [queue, dead] = [rabbit.name(), rabbit.name()]
    await rabbit.declare(dead)
    const own = { 'x-queue-type': 'quorum', 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': dead }
    await rabbit.declare(queue, own)
    const at = await consumers.open(rabbit.url, { queue, deadLetter: 'reject' })
    await rabbit.send(queue, bodies(3))
    await at.intake.untilDelivered(3)
    const [first, second, third] = at.intake.deliveries
    third?.settle()
    await at.publisher.deadLetter(deadLetterOf(second as Delivery))
    expect(await rabbit.ready(dead)).toBe(0)
    expect(second?.settle()).toBe(true)
    expect(second?.settle()).toBe(true)
    const taken = await rabbit.take(dead)
    expect(taken.body).toBe('m1')
    expect(taken.properties.headers?.['x-death']).toMatchObject([{ reason: 'rejected', queue }])
    first?.settle()
    await at.intake.until(() => at.intake.settled === 3)
    expect(at.tap.consuming[0]?.frames).toEqual([
      { kind: 'reject', tag: 2, requeue: false },
      { kind: 'ack', tag: 3, multiple: true },
    ])
    await at.source.close()
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })
})
