import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RabbitConnect, RabbitOptions } from '../../adapters/amqplib/index.ts'
import type { Delivery, Source } from '../../src/internal.ts'
import { Consumers } from './consumers.ts'
import { Rabbit } from './rabbit.ts'
import { Tap } from './tap.ts'
import { bodies, textOf } from './watching.ts'

let rabbit: Rabbit
const consumers = new Consumers()

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => consumers.end())

async function open(
  options: Partial<RabbitOptions> & { readonly queue: string },
  connect: RabbitConnect = rabbit.url,
): Promise<{ readonly source: Source; readonly intake: RecordingIntake }> {
  const { source } = consumers.broker(connect, options)
  const intake = new RecordingIntake()
  await source.open(intake)
  return { source, intake }
}

describe('a RabbitMQ source', () => {
  it('delivers what was published, with all that a message has', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue, lane: ({ key }) => Buffer.from(key ?? []).toString() })
    expect({ system: source.system, group: source.group }).toEqual({ system: 'rabbitmq', group: queue })
    await rabbit.send(queue, ['hello'], { messageId: 'id-1', timestamp: 1_700_000_000, headers: { tenant: 'a' } })
    await intake.untilDelivered(1)
    const [delivery] = intake.deliveries
    const { message, lane } = delivery as Delivery
    expect(lane).toBe(queue)
    expect({
      system: message.system,
      destination: message.destination,
      origin: message.origin,
      position: message.position,
      key: Buffer.from(message.key ?? []).toString(),
      value: Buffer.from(message.value ?? []).toString(),
      headers: message.headers,
      messageId: message.messageId,
      timestamp: message.timestamp,
      redelivered: message.redelivered,
    }).toEqual({
      system: 'rabbitmq',
      destination: queue,
      origin: queue,
      position: '1/1',
      key: queue,
      value: 'hello',
      headers: { tenant: 'a' },
      messageId: 'id-1',
      timestamp: 1_700_000_000_000,
      redelivered: false,
    })
  })

  it('tells a tombstone and the origin of a copy by our headers, and an empty body is an empty value', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue })
    await rabbit.send(queue, [''], { messageId: 'a' })
    await rabbit.send(queue, [''], {
      headers: { 'consume-once-tombstone': true, 'consume-once-origin-queue': 'orders' },
    })
    await intake.untilDelivered(2)
    const [empty, tombstone] = intake.deliveries.map(({ message }) => message)
    expect(empty?.value).toHaveLength(0)
    expect(empty?.origin).toBe(queue)
    expect(tombstone?.value).toBeNull()
    expect(tombstone?.origin).toBe('orders')
  })

  it('hands over together what arrives together, 256 at most', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.send(queue, bodies(600))
    const { intake } = await open({ queue, prefetch: 1000 })
    await intake.untilDelivered(600)
    expect(intake.deliveries.map(textOf)).toEqual(bodies(600))
    expect(Math.max(...intake.batches.map((batch) => batch.length))).toBeLessThanOrEqual(256)
    expect(intake.batches.length).toBeLessThan(200)
  })

  it('holds what arrives while it is paused, unacked, and delivers it when resumed', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue, prefetch: 10 })
    source.pause()
    source.pause()
    expect(source.health()).toMatchObject({ ready: false, detail: 'paused' })
    await rabbit.send(queue, bodies(15))
    await eventually(async () => (await rabbit.ready(queue)) === 5)
    expect(intake.batches).toEqual([])
    source.resume()
    source.resume()
    await intake.untilDelivered(10)
    expect(source.health()).toMatchObject({ ready: true, detail: 'consuming' })
    for (const delivery of intake.deliveries) delivery.settle()
    await intake.untilDelivered(15)
    expect(intake.deliveries.map(textOf)).toEqual(bodies(15))
  })

  it('stops delivering at once when the intake pauses it, within one turn too', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue)
    await rabbit.send(queue, bodies(600))
    const { source, intake } = await open({ queue, prefetch: 1000 })
    intake.onDeliver = () => source.pause()
    await intake.untilDelivered(1)
    const early = intake.deliveries.length
    await rabbit.ready(queue)
    expect(intake.deliveries).toHaveLength(early)
    intake.onDeliver = () => {}
    source.resume()
    await intake.untilDelivered(600)
  })

  it('acks a finished run with one frame, and nothing above an unfinished delivery', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const { source, intake } = await open({ queue, prefetch: 100 }, tap.connect)
    await rabbit.send(queue, bodies(5))
    await intake.untilDelivered(5)
    const [first, second, third, , fifth] = intake.deliveries
    for (const delivery of [third, second, fifth]) expect(delivery?.settle()).toBe(true)
    expect(first?.settle()).toBe(true)
    expect(first?.settle()).toBe(true)
    await intake.until(() => intake.settled === 3)
    expect(tap.consuming[0]?.frames).toEqual([{ kind: 'ack', tag: 3, multiple: true }])

    await source.close()
    expect(tap.consuming[0]?.frames.slice(1)).toEqual([{ kind: 'cancel' }, { kind: 'ack', tag: 5, multiple: false }])
    expect((await rabbit.takeLeft(queue)).map(({ body }) => body)).toEqual(['m3'])
  })

  it('keeps going behind a straggler', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue, prefetch: 10 })
    intake.onDeliver = (delivery) => textOf(delivery) === 'm0' || delivery.settle()
    await rabbit.send(queue, bodies(200))
    await intake.untilDelivered(200)
    await intake.until(() => intake.settled >= 190)
    expect(intake.deliveries[0]?.settle()).toBe(true)
    await intake.until(() => intake.settled === 200)
  })

  it('acks each by itself and at once where batching is off', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const { intake } = await open({ queue, ackBatch: false }, tap.connect)
    await rabbit.send(queue, bodies(3))
    await intake.untilDelivered(3)
    const [first, second, third] = intake.deliveries
    for (const delivery of [second, first, third]) expect(delivery?.settle()).toBe(true)
    expect(tap.consuming[0]?.frames.map((frame) => 'tag' in frame && frame.tag)).toEqual([2, 1, 3])
    expect(intake.settled).toBe(3)
  })

  it('opens channels of its own on a lent connection and leaves it open', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const connection = await tap.connect()
    const listeners = connection.listenerCount('close')
    const { source, intake } = await open({ queue }, { connection })
    await rabbit.send(queue, ['a'])
    await intake.untilDelivered(1)
    await source.close()
    expect(connection.listenerCount('close')).toBe(listeners)
    const channel = await connection.createChannel()
    await channel.checkQueue(queue)
    await connection.close()
  })

  it('survives a lane extractor that throws: that message has no lane', async () => {
    const queue = rabbit.name()
    const { intake } = await open({
      queue,
      lane: () => {
        throw new Error('no such field')
      },
    })
    await rabbit.send(queue, ['a'])
    await intake.untilDelivered(1)
    expect(intake.deliveries[0]?.lane).toBeUndefined()
    expect(intake.told('lane-failed').length).toBe(1)
  })
})
