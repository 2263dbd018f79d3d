import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import type { BrokerError } from '../../src/index.ts'
import { rabbitVersions } from '../kit/server-versions.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { itWaitsElsewhereWhileBusy } from '../../test/rabbitmq/busy.ts'
import { Consumers, type Handle } from '../../test/rabbitmq/consumers.ts'
import { deadLetterOf, deliveryAt, retryOf } from '../../test/rabbitmq/dead-letters.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { textOf } from '../../test/rabbitmq/watching.ts'

const UNLIMITED = { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 }

rabbitVersions.describeOn('4.3', 'on RabbitMQ 4.3', () => {
  let broker: Awaited<ReturnType<typeof startPrivateRabbit>>
  let rabbit: Rabbit
  const consumers = new Consumers()

  beforeAllOpen(async (own) => {
    broker = own(await startPrivateRabbit({ version: '4.3' }))
    rabbit = own(await Rabbit.open(broker.url))
  })
  afterEach(() => consumers.end())

  it('refuses a user who may not read the queue, which is not waited for as an exclusive consumer is', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, UNLIMITED)
    await rabbit.declare(`${queue}.dead-letter`, UNLIMITED)
    await broker.control('add_user', 'writer', 'writer')
    await broker.control('set_permissions', 'writer', '.*', '.*', '^$')
    const url = broker.url.replace('guest:guest', 'writer:writer')
    await expect(consumers.open(url, { queue })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('expected to be allowed to use it, got: '),
    })
  })

  describe('a queue that delays what comes back', () => {
    it('is declared as one', async () => {
      const queue = rabbit.name()
      await consumers.open(rabbit.url, { queue, retry: { delayedByQueue: { minMs: 100, maxMs: 300 } } })
      const delayed = { 'x-delayed-retry-type': 'all', 'x-delayed-retry-min': 100, 'x-delayed-retry-max': 300 }
      // Declared otherwise, this would be refused.
      await expect(rabbit.declare(queue, { ...UNLIMITED, ...delayed })).resolves.toBeUndefined()
    })

    it('is none where a foreign one was declared without, which is refused', async () => {
      const queue = rabbit.name()
      await rabbit.declare(queue, UNLIMITED)
      await rabbit.declare(`${queue}.dead-letter`, UNLIMITED)
      const options: RabbitOptions = { queue, setup: 'check', retry: { delayedByQueue: { minMs: 100, maxMs: 300 } } }
      await expect(consumers.open(rabbit.url, options)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining("expected a quorum queue with x-delayed-retry-type 'all'"),
      })
    })

    it('gets it by reject when it failed, and by nack when it was busy', async () => {
      const queue = rabbit.name()
      const at = await consumers.open(rabbit.url, { queue, retry: { delayedByQueue: { minMs: 200, maxMs: 500 } } })
      expect([1, 2, 3].map((attempts) => at.publisher.retryDelayMs?.(attempts))).toEqual([200, 400, 500])
      await rabbit.send(queue, ['failed', 'busy'])
      await at.intake.untilDelivered(2)
      const sentAt = performance.now()
      await at.publisher.retryLater?.(retryOf(deliveryAt(at, 0)))
      await at.publisher.retryLater?.(retryOf(deliveryAt(at, 1), { why: 'busy', attempts: 0 }))
      expect([deliveryAt(at, 0).settle(), deliveryAt(at, 1).settle()]).toEqual([true, true])
      expect(at.tap.consuming[0]?.frames).toEqual([
        { kind: 'reject', tag: 1, requeue: true },
        { kind: 'nack', tag: 2, requeue: true },
      ])
      await at.intake.untilDelivered(4)
      expect(performance.now() - sentAt).toBeGreaterThan(150)
      const back = new Map(at.intake.deliveries.slice(2).map((one) => [textOf(one), one.message.headers]))
      expect(back.get('failed')?.['x-delivery-count']).toBe(1)
      expect(back.get('busy')).not.toHaveProperty(['x-delivery-count'])
    })

    it('delays each attempt longer, up to the last', async () => {
      const queue = rabbit.name()
      const startedAt: number[] = []
      const options: RabbitOptions = { queue, retry: { delayedByQueue: { minMs: 100, maxMs: 200 } } }
      const handle: Handle = () => {
        startedAt.push(performance.now())
        throw new Error('no')
      }
      const { running, watching } = await consumers.run(rabbit.url, options, handle, { maxAttempts: 4 })
      await rabbit.send(queue, ['a'])
      await watching.untilOutcomes('dead-lettered', 1)
      const pauses = startedAt.slice(1).map((at, index) => at - (startedAt[index] ?? 0))
      expect(pauses).toHaveLength(3)
      expect(pauses[0]).toBeGreaterThan(90)
      expect(pauses[1]).toBeGreaterThan(190)
      expect(pauses[2]).toBeGreaterThan(190)
      await running.stop()
      expect(await rabbit.takeLeft(queue)).toEqual([])
      expect(await rabbit.ready(`${queue}.dead-letter`)).toBe(1)
    })
  })

  describe('a message that another process is busy with for long', () => {
    const retry = { delayedByQueue: { minMs: 100, maxMs: 100 } }
    itWaitsElsewhereWhileBusy('the queue itself', retry, () => ({ rabbit, consumers }))
  })

  describe('a copy that the broker never takes', () => {
    it('is refused by its size from then on, and holds no other copy up', async () => {
      const queue = rabbit.name()
      const at = await consumers.open(rabbit.url, { queue })
      await rabbit.send(queue, ['a'])
      await at.intake.untilDelivered(1)
      const delivery = deliveryAt(at, 0)
      const { message } = delivery
      // Servers below 4.0 take 128 MiB.
      const value = Buffer.alloc(17 * 1024 * 1024)
      const huge = { ...deadLetterOf(delivery), message: { ...message, headers: {}, value } }
      const failure = async (): Promise<BrokerError> =>
        (await at.publisher.deadLetter(huge).catch((error: unknown) => error)) as BrokerError
      expect((await failure()).message).toMatch(/larger than configured max size 16777216/)
      const beside = at.publisher.deadLetter(deadLetterOf(delivery))
      expect((await failure()).message).toMatch(
        /^a copy of 17825792 bytes was not published: the broker takes 16777216 at most\./,
      )
      await beside
      expect(await rabbit.ready(`${queue}.dead-letter`)).toBe(1)
    })
  })
})
