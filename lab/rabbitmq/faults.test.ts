import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { type RabbitConnect, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type { Source } from '../../src/internal.ts'
import { startProxyOf, type ProxyOf } from '../../test/kit/fault-proxy.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Tap } from '../../test/rabbitmq/tap.ts'
import { bodies, textOf } from '../../test/rabbitmq/watching.ts'

let rabbit: Rabbit
let proxy: ProxyOf
let tap: Tap
let opened: Source[] = []

beforeAllOpen(async (own) => {
  rabbit = own(await Rabbit.open())
  proxy = own(await startProxyOf(rabbit.url, 5672))
})
afterEach(async () => {
  proxy.accept()
  await Promise.all(opened.map((source) => source.close()))
  opened = []
})

async function open(
  options: RabbitOptions,
  connect?: RabbitConnect,
): Promise<{ readonly source: Source; readonly intake: RecordingIntake }> {
  tap = new Tap(proxy.url)
  const { source } = rabbitSource(connect ?? tap.connect, options)
  opened.push(source)
  const intake = new RecordingIntake()
  await source.open(intake)
  return { source, intake }
}

describe('a lost connection', () => {
  it('makes all its deliveries stale, and everything comes again', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue })
    await rabbit.send(queue, bodies(6))
    await intake.untilDelivered(6)
    const old = [...intake.deliveries]
    old[0]?.settle()
    old[1]?.settle()
    await intake.until(() => intake.settled === 2)
    await eventually(async () => (await rabbit.ready(queue)) === 0)

    proxy.cut()
    await intake.untilTold('connection-lost')
    expect(old.map((delivery) => delivery.standing())).toEqual(Array.from({ length: 6 }, () => 'lost'))
    expect(old[3]?.settle()).toBe(false)
    expect(intake.standingChanges).toBe(1)
    expect(source.health()).toMatchObject({ ready: false })

    await intake.untilTold('rebuilt')
    await intake.until(() => intake.deliveries.length >= 10)
    expect(source.health()).toMatchObject({ ready: true, detail: 'consuming' })
    const fresh = intake.deliveries.slice(6)
    // The acks of m0 and m1 may have been lost with the connection.
    expect(fresh.map(textOf)).toEqual(expect.arrayContaining(bodies(6).slice(2)))
    expect(fresh[0]?.message.position).toBe('2/1')
    expect(fresh.at(-1)?.message.redelivered).toBe(true)

    // Settles of the old handlers are ignored.
    for (const delivery of old) expect(delivery.settle()).toBe(delivery === old[0] || delivery === old[1])
    for (const delivery of fresh) expect(delivery.settle()).toBe(true)
    await intake.until(() => intake.settled === 2 + fresh.length)
    expect(tap.consuming[1]?.frames).toEqual([{ kind: 'ack', tag: fresh.length, multiple: true }])
  })

  it('is rebuilt without end, reports every failure, and is not ready meanwhile', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue })
    tap.failing = 3
    proxy.cut()
    await intake.untilTold('set-up-failed', 2)
    expect(source.health().detail).toMatch(/^reconnecting, attempt \d: .*: tapped: no connection\. Check that it runs/)
    await intake.untilTold('rebuilt')
    expect(intake.told('set-up-failed').length).toBe(3)
    expect(intake.told('connection-lost').length).toBe(1)
    await rabbit.send(queue, ['a'])
    await intake.untilDelivered(1)
  })

  it('is survived while it strikes at any moment of the set-up', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue, prefetch: 20 }, proxy.url)
    for (let round = 0; round < 12; round++) {
      proxy.cut()
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60))
    }
    await rabbit.send(queue, bodies(20))
    await intake.until(() => new Set(intake.deliveries.map(textOf)).size === 20)
    await eventually(async () => (await rabbit.consumers(queue)) === 1)
    expect(source.health()).toMatchObject({ ready: true, detail: 'consuming' })
  })

  it('does not keep what came while paused, and stays paused', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue })
    source.pause()
    await rabbit.send(queue, bodies(3))
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    proxy.cut()
    await intake.untilTold('rebuilt')
    await eventually(async () => (await rabbit.ready(queue)) === 0)
    expect(intake.deliveries).toEqual([])
    source.resume()
    await intake.untilDelivered(3)
    expect(intake.deliveries.map(({ message }) => message.position)).toEqual(['2/1', '2/2', '2/3'])
  })
})

describe('a channel that closes alone', () => {
  it('is replaced on the same connection', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue })
    await rabbit.send(queue, bodies(2))
    await intake.untilDelivered(2)
    const [first, second] = intake.deliveries
    // An unknown tag is a channel error, as a second settle would be.
    tap.consuming[0]?.channel.ack({ fields: { deliveryTag: 99 } } as never)
    await intake.untilTold('channel-closed')
    expect(intake.events).toContainEqual({
      type: 'source',
      event: 'channel-closed',
      detail: expect.stringContaining('unknown delivery tag 99'),
      isWarning: true,
    })
    expect([first, second].map((delivery) => delivery?.standing())).toEqual(['lost', 'lost'])
    await intake.untilDelivered(4)
    expect(tap.connects).toBe(1)
    intake.deliveries[2]?.settle()
    intake.deliveries[3]?.settle()
    await intake.until(() => intake.settled === 2)
  })

  it('because something else settled one of its tags a second time is replaced too', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue })
    await rabbit.send(queue, bodies(3))
    await intake.untilDelivered(3)
    const [first, , third] = intake.deliveries
    first?.settle()
    await intake.until(() => intake.settled === 1)
    tap.consuming[0]?.channel.ack({ fields: { deliveryTag: 1 } } as never)
    expect(third?.settle()).toBe(true) // Behind the frame that ends the channel: nobody hears it.
    await intake.untilTold('channel-closed')
    await intake.untilTold('rebuilt')
    await intake.untilDelivered(5)
    expect(intake.deliveries.slice(3).map(textOf)).toEqual(['m1', 'm2'])
    expect(tap.connects).toBe(1)
  })

  it('refuses a settle while it closes and afterwards, without an error', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue, ackBatch: false })
    await rabbit.send(queue, bodies(2))
    await intake.untilDelivered(2)
    const [first, second] = intake.deliveries
    const closing = tap.consuming[0]?.channel.close()
    expect(first?.settle()).toBe(false)
    await closing
    expect(second?.settle()).toBe(false)
    await intake.untilDelivered(4)
  })

  it('does not lose a flush that was under way: what was not acked comes again', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue })
    await rabbit.send(queue, bodies(4))
    await intake.untilDelivered(4)
    for (const delivery of intake.deliveries) expect(delivery.settle()).toBe(true)
    void tap.consuming[0]?.channel.close() // Before the turn in which the acks would go.
    await intake.untilDelivered(8)
    for (const delivery of intake.deliveries.slice(4)) delivery.settle()
    await intake.until(() => intake.settled === 4)
  })
})

describe('a consumer that the broker cancels', () => {
  it('is rebuilt with its queue, and settles nothing of the old one', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue })
    await rabbit.send(queue, ['old'])
    await intake.untilDelivered(1)
    await rabbit.delete(queue)
    await intake.untilTold('consumer-cancelled')
    expect(intake.deliveries[0]?.settle()).toBe(false)
    await intake.untilTold('rebuilt')
    await rabbit.send(queue, ['new'])
    await intake.untilDelivered(2)
    expect(tap.consuming[0]?.frames).toEqual([{ kind: 'cancel' }])
    expect(tap.connects).toBe(1)

    await rabbit.delete(queue)
    await intake.untilTold('rebuilt', 2)
    expect(intake.told('consumer-cancelled').length).toBe(2)
    expect(intake.told('connection-lost').length).toBe(0)
  })

  it('waits, visibly, for a queue that it may not declare', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.declare(`${queue}.dead-letter`)
    const { source, intake } = await open({ queue, setup: 'check' })
    await rabbit.delete(queue)
    await intake.untilTold('set-up-failed', 2)
    expect(source.health().detail).toMatch(/reconnecting, attempt \d: RabbitMQ: queue .* expected to exist/)
    await rabbit.declare(queue)
    await intake.untilTold('rebuilt')
    await rabbit.send(queue, ['new'])
    await intake.untilDelivered(1)
  })
})
