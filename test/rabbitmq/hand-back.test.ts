import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
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

async function open(
  options: RabbitOptions,
  url = rabbit.url,
): Promise<{ readonly source: Source; readonly intake: RecordingIntake; readonly tap: Tap }> {
  const tap = new Tap(url)
  const { source } = consumers.broker(tap.connect, options)
  const intake = new RecordingIntake()
  await source.open(intake)
  return { source, intake, tap }
}

describe('handing a delivery back', () => {
  it('gives it to whoever comes, once, and it cannot be settled any more', async () => {
    const queue = rabbit.name()
    const { source, intake, tap } = await open({ queue })
    await rabbit.send(queue, bodies(3))
    await intake.untilDelivered(3)
    const [first, second, third] = intake.deliveries
    expect([second?.handBack?.(), second?.handBack?.(), second?.settle()]).toEqual([true, true, false])
    await intake.untilDelivered(4)
    expect(intake.deliveries[3]?.message.messageId).toBe('m1')
    for (const delivery of [first, third, intake.deliveries[3]]) expect(delivery?.settle()).toBe(true)
    expect(first?.handBack?.()).toBe(false)
    await intake.until(() => intake.settled === 3)
    await source.close()
    expect(tap.consuming[0]?.frames).toEqual([
      { kind: 'nack', tag: 2, requeue: true },
      { kind: 'ack', tag: 4, multiple: true },
      { kind: 'cancel' },
    ])
    expect(source.health().counts).toMatchObject({ 'handed-back': 1 })
    expect(await rabbit.takeLeft(queue)).toEqual([])
  })

  it('holds up no ack of what is finished above it', async () => {
    const queue = rabbit.name()
    const { intake, tap } = await open({ queue })
    await rabbit.send(queue, bodies(2))
    await intake.untilDelivered(2)
    const [first, second] = intake.deliveries
    second?.settle()
    await nextTurn() // Its ack waits for the first one.
    await nextTurn()
    expect(tap.consuming[0]?.frames).toEqual([])
    first?.handBack?.()
    await intake.until(() => intake.settled === 1)
    expect(tap.consuming[0]?.frames).toEqual([
      { kind: 'nack', tag: 1, requeue: true },
      { kind: 'ack', tag: 2, multiple: true },
    ])
  })

  it('waits at a stop until the broker has ended the consumer, so that nothing comes back here', async () => {
    const queue = rabbit.name()
    const { source, intake, tap } = await open({ queue })
    await rabbit.send(queue, bodies(4))
    await intake.untilDelivered(4)
    const stopping = source.stopIntake()
    for (const delivery of intake.deliveries.slice(1)) expect(delivery.handBack?.()).toBe(true)
    expect(tap.consuming[0]?.frames).toEqual([{ kind: 'cancel' }])
    await stopping
    expect(intake.deliveries[0]?.settle()).toBe(true)
    await source.close()
    expect(tap.consuming[0]?.frames).toEqual([
      { kind: 'cancel' },
      { kind: 'nack', tag: 2, requeue: true },
      { kind: 'nack', tag: 3, requeue: true },
      { kind: 'nack', tag: 4, requeue: true },
      { kind: 'ack', tag: 1, multiple: true },
    ])
    expect(tap.consuming[0]?.delivered).toBe(4)
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['m1', 'm2', 'm3'])
  })

  it('leaves it to the close of the channel where one consumer is active', async () => {
    const queue = rabbit.name()
    const { source, intake, tap } = await open({ queue, singleActiveConsumer: true })
    const next = await open({ queue, singleActiveConsumer: true })
    await rabbit.send(queue, bodies(3))
    await intake.untilDelivered(3)
    await source.stopIntake()
    for (const delivery of intake.deliveries.slice(1)) expect(delivery.handBack?.()).toBe(true)
    await rabbit.ready(queue)
    expect(next.intake.deliveries).toEqual([])
    intake.deliveries[0]?.settle()
    await source.close()
    expect(tap.consuming[0]?.frames).toEqual([{ kind: 'ack', tag: 1, multiple: true }])
    await next.intake.untilDelivered(2)
    expect(next.intake.deliveries.map(({ message }) => message.messageId)).toEqual(['m1', 'm2'])
  })

  it('loses no ack among many of them right before the close', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue, prefetch: 1000 })
    await rabbit.send(queue, bodies(1000))
    await intake.untilDelivered(1000)
    const stopping = source.stopIntake()
    intake.deliveries.forEach((delivery, index) => index % 2 === 0 && delivery.handBack?.())
    await stopping
    intake.deliveries.forEach((delivery, index) => index % 2 === 1 && delivery.settle())
    await source.close()
    const left = await rabbit.takeLeft(queue)
    expect(left.map(({ body }) => body).toSorted()).toEqual(
      bodies(1000)
        .filter((_, index) => index % 2 === 0)
        .toSorted(),
    )
  })

  it('is refused once the channel is gone, and nothing is sent [T84]', async () => {
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const queue = rabbit.name()
    const { source, intake, tap } = await open({ queue }, proxy.url)
    await rabbit.send(queue, ['a', 'b'])
    await intake.untilDelivered(2)
    proxy.cut()
    await intake.untilTold('rebuilt')
    await intake.untilDelivered(4)
    const [first, second] = intake.deliveries
    expect([first?.handBack?.(), second?.settle()]).toEqual([false, false])
    expect(tap.consuming.flatMap(({ frames }) => frames)).toEqual([])
    expect(source.health().counts).toMatchObject({ 'settle-stale': 1, 'connection-lost': 1, rebuilt: 1 })
    await eventually(async () => (await rabbit.ready(queue)) === 0)
  })
})
