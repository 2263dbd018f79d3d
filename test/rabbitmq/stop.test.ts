import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RabbitConnect, RabbitOptions } from '../../adapters/amqplib/index.ts'
import type { Source } from '../../src/internal.ts'
import { startProxyOf } from '../kit/fault-proxy.ts'
import { Consumers } from './consumers.ts'
import { Rabbit } from './rabbit.ts'
import { Tap } from './tap.ts'
import { bodies } from './watching.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

function sourceOf(connect: RabbitConnect, options: RabbitOptions): Source {
  const { source } = consumers.broker(connect, options)
  return source
}

describe('stopping a RabbitMQ source', () => {
  // 100 single acks right before a close are more than a quorum queue heeds; with 1,000 it gets the time to.
  it.each([
    { count: 1000, how: 'batched acks', ackBatch: true },
    { count: 1000, how: 'an ack each', ackBatch: false },
    { count: 100, how: 'an ack each', ackBatch: false },
  ])(
    'leaves nothing to redeliver of $count finished messages on a quorum queue, with $how',
    async ({ count, ackBatch }) => {
      const queue = rabbit.name()
      const tap = new Tap(rabbit.url)
      const source = sourceOf(tap.connect, { queue, prefetch: 1000, ackBatch })
      const intake = new RecordingIntake()
      source.pause()
      await source.open(intake)
      await rabbit.send(queue, bodies(count))
      await eventually(async () => (await rabbit.ready(queue)) === 0)
      source.resume()
      await intake.untilDelivered(count)
      await source.stopIntake()
      // The worst order: nothing can be gathered before the last one.
      for (const delivery of intake.deliveries.toReversed()) expect(delivery.settle()).toBe(true)
      await source.close()
      expect(intake.settled).toBe(count)
      expect(await rabbit.takeLeft(queue)).toEqual([])
    },
  )

  it.each([
    { how: 'after the cancel', whenStopping: true },
    { how: 'before the cancel', whenStopping: false },
    { how: 'where one consumer is active', whenStopping: true, singleActiveConsumer: true },
  ])('leaves nothing to redeliver of 200 acks sent $how to a broker that reads late', async (given) => {
    const { whenStopping, singleActiveConsumer = false } = given
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const queue = rabbit.name()
    const tap = new Tap(proxy.url)
    const source = sourceOf(tap.connect, { queue, prefetch: 200, ackBatch: false, singleActiveConsumer })
    const intake = new RecordingIntake()
    await source.open(intake)
    await rabbit.send(queue, bodies(200))
    await intake.untilDelivered(200)
    await rabbit.send(queue, ['waiting'])
    if (whenStopping) await source.stopIntake()
    proxy.freeze()
    for (const delivery of intake.deliveries.toReversed()) expect(delivery.settle()).toBe(true)
    const stopped = source.stopIntake().then(() => source.close())
    await new Promise((resolve) => setTimeout(resolve, 300)) // More than a calm broker needs.
    proxy.thaw()
    await stopped
    expect(intake.settled).toBe(200)
    await rabbit.send(queue, ['last'])
    const left = new RecordingIntake()
    await sourceOf(rabbit.url, { queue, prefetch: 300, singleActiveConsumer }).open(left)
    await left.until(() => left.deliveries.some(({ message }) => message.messageId === 'last'))
    expect(left.deliveries.map(({ message }) => message.messageId)).toEqual(['waiting', 'last'])
  })

  it('costs no delivery of the next message, where any would be its last', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', 'x-delivery-limit': 0 })
    const source = sourceOf(rabbit.url, { queue, setup: 'off', prefetch: 100, ackBatch: false })
    const intake = new RecordingIntake()
    await source.open(intake)
    await rabbit.send(queue, bodies(100))
    await intake.untilDelivered(100)
    await rabbit.send(queue, ['waiting'])
    await source.stopIntake()
    for (const delivery of intake.deliveries.toReversed()) expect(delivery.settle()).toBe(true)
    await source.close()
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['waiting'])
  })

  it('cancels, hands back what was not dispatched, lets the rest finish, and acks before it closes', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const source = sourceOf(tap.connect, { queue })
    const intake = new RecordingIntake()
    await source.open(intake)
    await rabbit.send(queue, bodies(2))
    await intake.untilDelivered(2)
    source.pause()
    await rabbit.send(queue, ['late-1', 'late-2'])
    await eventually(async () => (await rabbit.ready(queue)) === 0)

    await source.stopIntake()
    expect(source.health()).toMatchObject({ ready: false, detail: 'draining' })
    await eventually(async () => (await rabbit.ready(queue)) === 2)
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['late-1', 'late-2'])
    source.resume()
    expect(intake.deliveries.map((delivery) => delivery.standing())).toEqual(['current', 'current'])
    expect(intake.deliveries[0]?.settle()).toBe(true)
    await source.close()
    expect(tap.consuming[0]?.frames).toEqual([
      { kind: 'cancel' },
      { kind: 'nack', tag: 3, requeue: true },
      { kind: 'nack', tag: 4, requeue: true },
      { kind: 'ack', tag: 1, multiple: true },
    ])
    expect(intake.deliveries[1]?.standing()).toBe('lost')
    expect(intake.deliveries[1]?.settle()).toBe(false)
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['m1'])
    expect(source.health()).toMatchObject({ ready: false, detail: 'closed' })
  })

  it('neither cancels nor hands back where one consumer is active', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const source = sourceOf(tap.connect, { queue, singleActiveConsumer: true })
    const next = sourceOf(rabbit.url, { queue, singleActiveConsumer: true })
    const intake = new RecordingIntake()
    const intakeOfNext = new RecordingIntake()
    await source.open(intake)
    await next.open(intakeOfNext)
    await rabbit.send(queue, bodies(1))
    await intake.untilDelivered(1)
    source.pause()
    await rabbit.send(queue, ['late'])
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    await source.stopIntake()
    expect(tap.consuming[0]?.frames).toEqual([])
    expect(intakeOfNext.deliveries).toEqual([])
    intake.deliveries[0]?.settle()
    await source.close()
    expect(tap.consuming[0]?.frames).toEqual([{ kind: 'ack', tag: 1, multiple: true }])
    await intakeOfNext.untilDelivered(1)
    expect(intakeOfNext.deliveries.map(({ message }) => message.messageId)).toEqual(['late'])
    await next.close()
  })

  it('is one stop however often it is called, and its own closing rebuilds nothing', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const source = sourceOf(tap.connect, { queue })
    const intake = new RecordingIntake()
    await source.open(intake)
    const events = intake.events.length
    expect(source.stopIntake()).toBe(source.stopIntake())
    expect(source.close()).toBe(source.close())
    await source.close()
    await expect(tap.models[0]?.createChannel()).rejects.toThrow(/closed/i)
    expect(intake.events).toHaveLength(events)
    expect(tap.connects).toBe(1)
    expect(await rabbit.consumers(queue)).toBe(0)
  })

  it('works during a reconnect, and before a start', async () => {
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const queue = rabbit.name()
    const source = sourceOf(proxy.url, { queue })
    const intake = new RecordingIntake()
    await source.open(intake)
    proxy.refuse()
    proxy.cut()
    await intake.untilTold('set-up-failed')
    await source.stopIntake()
    await source.close()
    const events = intake.events.length
    proxy.accept()
    expect(source.health().detail).toBe('closed')
    expect(intake.events).toHaveLength(events)
    await eventually(async () => proxy.connections === 0)

    await sourceOf(rabbit.url, { queue }).close()
  })

  it('survives the connection lost while it drains', async () => {
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const queue = rabbit.name()
    const source = sourceOf(proxy.url, { queue })
    const intake = new RecordingIntake()
    await source.open(intake)
    await rabbit.send(queue, ['a'])
    await intake.untilDelivered(1)
    await source.stopIntake()
    proxy.cut()
    await intake.until(() => intake.standingChanges === 1)
    expect(intake.deliveries[0]?.settle()).toBe(false)
    await source.close()
    expect(intake.told('rebuilt').length).toBe(0)
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['a'])
  })
})
