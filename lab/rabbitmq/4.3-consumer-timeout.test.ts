import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { afterEach, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitVersions } from '../kit/server-versions.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { Consumers, type Handle, type Opened } from '../../test/rabbitmq/consumers.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Tap } from '../../test/rabbitmq/tap.ts'
import { Gate, textOf } from '../../test/rabbitmq/watching.ts'

/** Consumer timeout of the queue. The broker checks about once in this time. */
const TIMEOUT_MS = 1_000

rabbitVersions.describeOn('4.3', 'a consumer that RabbitMQ 4.3 times out', () => {
  let broker: Awaited<ReturnType<typeof startPrivateRabbit>>
  let rabbit: Rabbit
  const consumers = new Consumers()

  beforeAllOpen(async (own) => {
    broker = own(await startPrivateRabbit({ version: '4.3' }))
    rabbit = own(await Rabbit.open(broker.url))
  })
  afterEach(() => consumers.end())

  async function declared(more: Record<string, unknown> = {}): Promise<string> {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', 'x-consumer-timeout': TIMEOUT_MS, ...more })
    await rabbit.declare(`${queue}.dead-letter`)
    return queue
  }

  async function open(queue: string, singleActiveConsumer = false): Promise<Opened> {
    return consumers.open(broker.url, { queue, singleActiveConsumer, setup: 'check' })
  }

  async function run(
    queue: string,
    handle: Handle,
    singleActiveConsumer = false,
  ): Promise<Awaited<ReturnType<Consumers['run']>> & { readonly tap: Tap }> {
    const tap = new Tap(broker.url)
    return { ...(await consumers.run(tap.connect, { queue, singleActiveConsumer, setup: 'check' }, handle)), tap }
  }

  it.each([false, true])(
    'has the timeout of its options on a queue without one (single active consumer: %s)',
    async (singleActiveConsumer) => {
      const queue = rabbit.name()
      const recording = new RecordingIntake()
      recording.capacity = { ...recording.capacity, leaseMs: 500, longestRunMs: 900 }
      const options: RabbitOptions = { queue, singleActiveConsumer, consumerTimeoutMs: TIMEOUT_MS }
      const { source, intake } = await consumers.open(broker.url, options, recording)
      await rabbit.send(queue, ['a'])
      await intake.untilDelivered(1)
      await intake.untilTold('consumer-cancelled')
      expect(intake.deliveries[0]?.settle()).toBe(false)
      await intake.untilDelivered(2)
      expect(intake.deliveries.map(textOf)).toEqual(['a', 'a'])
      expect(intake.deliveries[1]?.settle()).toBe(true)
      await source.close()
      await rabbit.untilUnread(queue)
      // A queue with a single active consumer refuses basic.get.
      expect(await rabbit.ready(queue)).toBe(0)
    },
  )

  it('leaves its generation, cancels once, closes the channel, and is rebuilt on the same connection', async () => {
    const queue = await declared()
    const { intake, tap } = await open(queue)
    await rabbit.send(queue, ['m'])
    await intake.untilDelivered(1)
    await intake.untilTold('consumer-cancelled')
    expect(intake.deliveries[0]?.standing()).toBe('lost')
    expect(intake.deliveries[0]?.settle()).toBe(false)
    await intake.untilTold('rebuilt')
    await intake.untilDelivered(2)
    expect(intake.deliveries.map(textOf)).toEqual(['m', 'm'])
    expect(intake.deliveries[1]?.settle()).toBe(true)
    await intake.until(() => intake.settled === 1)
    expect(tap.consuming[0]?.frames).toEqual([{ kind: 'cancel' }])
    await expect(tap.consuming[0]?.channel.checkQueue(queue)).rejects.toThrow(/closed/i)
    expect(tap.connects).toBe(1)
    expect(intake.told('connection-lost').length).toBe(0)
    expect(await rabbit.consumers(queue)).toBe(1)

    // With a ghost left behind this would end the connection.
    await rabbit.delete(queue)
    await rabbit.declare(queue)
    await intake.untilTold('rebuilt', 2)
    expect(tap.connects).toBe(1)
  })

  it.each([false, true])(
    'handles the message once: its running handler is joined (single active consumer: %s)',
    async (isSingle) => {
      const queue = await declared(isSingle ? { 'x-single-active-consumer': true } : {})
      const finish = new Gate()
      let starts = 0
      const { running, watching, tap } = await run(
        queue,
        async ({ payload }) => {
          starts++
          if (payload === 'slow') await finish.opened
        },
        isSingle,
      )
      await rabbit.send(queue, ['slow'])
      await watching.untilTold('rebuilt', 2)
      // Marked before it is delivered again, it would be found done, and not be joined.
      await eventually(() => running.health().checks.handlers === '3 in flight')
      finish.open()
      await watching.untilOutcomes('joined', 1)
      await rabbit.send(queue, ['next'])
      await watching.untilOutcomes('handled', 1)
      await running.stop()
      expect(starts).toBe(2)
      expect(tap.connects).toBe(1)
      expect(watching.told('connection-lost')).toBe(0)
      await rabbit.untilUnread(queue)
      expect(await rabbit.ready(queue)).toBe(0) // A single active consumer forbids to take what is left.
    },
  )

  it('finds the mark of a handler that ended while nobody consumed', async () => {
    const queue = await declared()
    const finish = new Gate()
    let starts = 0
    const { running, watching, tap } = await run(queue, async () => {
      starts++
      await finish.opened
    })
    await rabbit.send(queue, ['slow'])
    await watching.untilTold('consumer-cancelled')
    finish.open()
    await watching.until(() => (watching.outcomes()['duplicate'] ?? 0) + (watching.outcomes()['joined'] ?? 0) === 1)
    await running.stop()
    expect(starts).toBe(1)
    expect(tap.consuming[0]?.frames).toEqual([{ kind: 'cancel' }])
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })

  it('does not stand still where one consumer is active and times out', async () => {
    const queue = await declared({ 'x-single-active-consumer': true })
    const both = [await open(queue, true), await open(queue, true)]
    await rabbit.send(queue, ['m'])
    // The active consumer holds it until its timeout, then the other one does: as long, or until it settles (4.3.6 forgets some).
    await Promise.race(both.map(({ intake }) => intake.untilTold('rebuilt')))
    await Promise.all(both.map(({ intake }) => intake.untilDelivered(1)))
    for (const { intake } of both) {
      intake.onDeliver = (delivery) => delivery.settle()
      for (const delivery of intake.deliveries) delivery.settle()
    }
    await Promise.race(both.map(({ intake }) => intake.until(() => intake.settled >= 1)))
    await rabbit.send(queue, ['next'])
    await Promise.race(both.map(({ intake }) => intake.until(() => intake.deliveries.map(textOf).includes('next'))))
    for (const { intake, tap } of both) {
      expect(intake.told('connection-lost').length).toBe(0)
      expect(tap.connects).toBe(1)
    }
  })
})
