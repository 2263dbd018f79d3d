import { openedOnce } from '../../test/kit/opened.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { RecordingIntake } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { connectorOf } from '../../adapters/amqplib/connection/connector.ts'
import { rabbitEvents } from '../../adapters/amqplib/report.ts'
import { DelayedCopies } from '../../adapters/amqplib/copies/delayed.ts'
import type { RabbitOptions } from '../../adapters/amqplib/index.ts'
import { resolveRabbitOptions } from '../../adapters/amqplib/options/resolve.ts'
import { RabbitSource } from '../../adapters/amqplib/source.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Reader } from '../../test/rabbitmq/reader.ts'
import { Tap } from '../../test/rabbitmq/tap.ts'
import { bodies, textOf } from '../../test/rabbitmq/watching.ts'

/** More than the prefetch of a source with one handler slot: what the broker gives to a ghost is not ready. */
const MANY = 25

let rabbit: Rabbit
let tap: Tap
let opened: RabbitSource[] = []
let readers: Reader[] = []

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(async () => {
  await Promise.all(opened.map((source) => source.close()))
  opened = []
  await Promise.all(readers.map((reader) => reader.close()))
  readers = []
})

async function open(
  options: RabbitOptions,
): Promise<{ readonly source: RabbitSource; readonly intake: RecordingIntake }> {
  tap = new Tap(rabbit.url)
  const source = new RabbitSource({
    connector: connectorOf(tap.connect),
    settings: resolveRabbitOptions(options),
    delayed: new DelayedCopies([]),
    events: rabbitEvents(),
    afterClose: async () => {},
    lookForStallEveryMs: 20,
  })
  opened.push(source)
  const intake = new RecordingIntake()
  intake.onDeliver = (delivery) => delivery.settle()
  await source.open(intake)
  return { source, intake }
}

async function read(queue: string): Promise<Reader> {
  const reader = await Reader.open(rabbit.url, queue)
  readers.push(reader)
  return reader
}

/** Each look asks on a channel of its own. */
async function untilLooks(times: number): Promise<void> {
  const before = tap.channels.length
  await eventually(() => tap.channels.length >= before + times)
}

async function replace(queue: string, type: 'quorum' | 'classic'): Promise<void> {
  const limit = type === 'quorum' && rabbit.limitsDeliveries ? { 'x-delivery-limit': -1 } : {}
  const args = { 'x-queue-type': type, ...limit }
  await rabbit.ask((channel) =>
    Promise.all([channel.deleteQueue(queue), channel.assertQueue(queue, { durable: true, arguments: args })]),
  )
}

describe('a queue that is deleted and at once declared again', () => {
  it.each(['quorum', 'classic'] as const)(
    'is consumed again, even if no broker cancels the consumer: %s',
    async (type) => {
      const queue = rabbit.name()
      const { source, intake } = await open({ queue, queueType: type })
      await rabbit.send(queue, ['old'])
      await intake.until(() => intake.settled === 1)
      await replace(queue, type)
      await rabbit.send(queue, bodies(MANY))
      await intake.until(() => new Set(intake.deliveries.map(textOf)).size === 1 + MANY)
      const isSilent = type === 'quorum' && !rabbit.isAtLeast(4, 0)
      expect(intake.told('consumer-stalled').length).toBe(isSilent ? 1 : 0)
      expect(intake.told('consumer-cancelled').length).toBe(isSilent ? 0 : 1)
      expect(intake.told('rebuilt').length).toBe(1)
      expect(tap.connects).toBe(1)
      expect(source.health()).toMatchObject({ ready: true })
      expect(await rabbit.consumers(queue)).toBe(1)
    },
  )
})

describe('a consumer to which nothing is delivered', () => {
  it('is left alone while its queue is empty', async () => {
    const { intake } = await open({ queue: rabbit.name() })
    await untilLooks(5)
    expect(intake.events).toHaveLength(1)
  })

  it('is left alone while others hold what there was', async () => {
    const queue = rabbit.name()
    const { source, intake } = await open({ queue })
    const reader = await read(queue)
    await rabbit.send(queue, bodies(2))
    await reader.next()
    await intake.until(() => intake.settled === 1)
    await untilLooks(5)
    expect(intake.told('consumer-stalled').length).toBe(0)
    expect(source.health()).toMatchObject({ ready: true })
  })

  it('is left alone while another one has its turn, which only the queue knows', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', 'x-single-active-consumer': true })
    await rabbit.declare(`${queue}.dead-letter`)
    const reader = await read(queue)
    await rabbit.send(queue, bodies(3))
    await reader.next()
    const { intake } = await open({ queue, setup: 'check' })
    expect(intake.told('single-active-consumer').length).toBe(1)
    const channels = tap.channels.length
    // Looks would open channels of their own.
    for (let round = 0; round < 10; round++) await rabbit.ready(queue)
    expect(tap.channels).toHaveLength(channels)
    expect(intake.told('consumer-stalled').length).toBe(0)
    await reader.close()
    await intake.until(() => intake.settled >= 3)
  })

  it('is not asked about while something is unacked, however much is ready behind it', async () => {
    const queue = rabbit.name()
    const { intake } = await open({ queue, prefetch: 1 })
    intake.onDeliver = () => {}
    await rabbit.send(queue, bodies(3))
    await intake.untilDelivered(1)
    await eventually(async () => (await rabbit.ready(queue)) === 2)
    const channels = tap.channels.length
    for (let round = 0; round < 10; round++) await rabbit.ready(queue)
    // One look may have been under way when it came.
    expect(tap.channels.length).toBeLessThanOrEqual(channels + 1)
    expect(intake.told('consumer-stalled').length).toBe(0)
  })
})
