import { openedOnce } from '../kit/opened.ts'
import { eventually } from '../kit/eventually.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { describe, expect, it } from '@jest/globals'
import { connect as dial, type ChannelModel } from 'amqplib'
import { runRabbit, type RabbitConnect, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import { defineConsumer, hasCode, type BrokerError, type ConfigError } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { startProxyOf } from '../kit/fault-proxy.ts'
import { freePort } from '../kit/servers/ports.ts'
import { Rabbit } from './rabbit.ts'
import { Tap } from './tap.ts'
import { Gate } from './watching.ts'

let rabbit: Rabbit

openedOnce(Rabbit, (made) => (rabbit = made))

/** The error of a start that must fail. */
async function failure(connect: RabbitConnect, options: RabbitOptions): Promise<unknown> {
  try {
    const { source } = rabbitSource(connect, options)
    await source.open(new RecordingIntake())
    await source.close()
    return undefined
  } catch (error) {
    return error
  }
}

/** Quorum queues know no exclusive consumer. */
async function consumeAlone(queue: string): Promise<ChannelModel> {
  const other = await dial(rabbit.url)
  const channel = await other.createChannel()
  await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'classic' } })
  await channel.consume(queue, () => {}, { exclusive: true })
  return other
}

async function declareAlone(queue: string): Promise<ChannelModel> {
  const other = await dial(rabbit.url)
  await (await other.createChannel()).assertQueue(queue, { exclusive: true })
  return other
}

describe('starting on RabbitMQ', () => {
  it('declares both queues where they are missing, durable, as quorum queues', async () => {
    const queue = rabbit.name()
    expect(await failure(rabbit.url, { queue })).toBeUndefined()
    const alike = { 'x-queue-type': 'quorum', ...(rabbit.limitsDeliveries ? { 'x-delivery-limit': -1 } : {}) }
    await rabbit.declare(queue, alike)
    await rabbit.declare(`${queue}.dead-letter`, alike)
    expect(await failure(rabbit.url, { queue })).toBeUndefined()
  })

  it('refuses a queue of another kind, naming both sides', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, {})
    const error = (await failure(rabbit.url, { queue })) as ConfigError
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toContain(
      `queue ${queue}: exists, and was declared otherwise; x-queue-type: expected 'quorum', got 'classic'.`,
    )
    expect(await failure(rabbit.url, { queue, queueType: 'classic' })).toBeUndefined()
    expect(await failure(rabbit.url, { queue, setup: 'check' })).toBeUndefined()
  })

  it('takes a queue with a delivery limit of its own, and warns', async () => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', 'x-delivery-limit': 7 })
    const intake = new RecordingIntake()
    const { source } = rabbitSource(rabbit.url, { queue })
    await source.open(intake)
    expect(intake.events).toContainEqual({
      type: 'source',
      event: 'delivery-limit',
      detail: expect.stringContaining(queue),
      isWarning: true,
    })
    expect(intake.events).toContainEqual({ type: 'source', event: 'consuming', detail: expect.any(String) })
    await source.close()
  })

  it.each(['check', 'off'] as const)('refuses to start on a missing queue with setup: %s', async (setup) => {
    const queue = rabbit.name()
    const error = (await failure(rabbit.url, { queue, setup })) as ConfigError
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toMatch(new RegExp(`queue ${queue}: expected to exist`))
  })

  it('refuses to start where no broker answers, and says where, without the password', async () => {
    const port = await freePort()
    const error = (await failure(`amqp://me:secret@127.0.0.1:${port}/v`, { queue: 'q' })) as BrokerError
    expect(error.code).toBe('BROKER_UNREACHABLE')
    expect(error.message).toContain(`amqp://127.0.0.1:${port}/v`)
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.message).not.toContain('secret')
  })

  it('goes on when its connection is cut after the broker has answered', async () => {
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const intake = new RecordingIntake()
    const { source } = rabbitSource(proxy.url, { queue: rabbit.name() })
    proxy.breakNext('cut before', 8)
    await source.open(intake)
    expect(proxy.faults).toBe(1)
    expect(intake.told('set-up-failed')).toEqual([expect.stringMatching(/^attempt 1: /)])
    expect(source.health().ready).toBe(true)
    await source.close()
  })

  it('gives up when its connection is cut and the broker answers no more', async () => {
    await using proxy = await startProxyOf(rabbit.url, 5672)
    const { source } = rabbitSource(proxy.url, { queue: rabbit.name() })
    const intake = new RecordingIntake()
    const report = intake.report.bind(intake)
    intake.report = (event) => {
      report(event)
      proxy.refuse()
    }
    proxy.breakNext('cut before', 8)
    await expect(source.open(intake)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    expect(proxy.faults).toBe(1)
    expect(intake.told('set-up-failed')).toHaveLength(1)
  })

  it('refuses to start with a wrong password', async () => {
    const error = (await failure(rabbit.url.replace('guest:guest', 'guest:wrong'), { queue: 'q' })) as ConfigError
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toContain('ACCESS-REFUSED')
    expect(error.message).not.toContain('wrong')
  })

  it.each([
    ['consumed by another connection alone', (queue: string) => consumeAlone(queue)],
    ['exclusive to another connection', (queue: string) => declareAlone(queue)],
  ])('waits for a queue that is %s, and says so', async (_, take) => {
    const queue = rabbit.name()
    const other = await take(queue)
    const intake = new RecordingIntake()
    const { source } = rabbitSource(rabbit.url, { queue, queueType: 'classic' })
    const opening = source.open(intake)
    await intake.untilTold('set-up-failed', 2)
    expect(source.health()).toMatchObject({ ready: false, detail: expect.stringMatching(/exclusive/) })
    await other.close()
    await opening
    expect(source.health().ready).toBe(true)
    await source.close()
  })

  it('ends its wait for such a queue when it is stopped', async () => {
    const queue = rabbit.name()
    const other = await consumeAlone(queue)
    const intake = new RecordingIntake()
    const tap = new Tap(rabbit.url)
    const { source } = rabbitSource(tap.connect, { queue, queueType: 'classic' })
    const opening = source.open(intake).catch((error: unknown) => error)
    await intake.untilTold('set-up-failed')
    await source.close()
    expect(hasCode(await opening, 'STOPPED')).toBe(true)
    await expect(tap.models[0]?.createChannel()).rejects.toThrow(/closed/i)
    await other.close()
  })

  it('does not wait for a queue that is exclusive to the connection it was lent', async () => {
    const connection = await dial(rabbit.url)
    const queue = rabbit.name()
    await (await connection.createChannel()).assertQueue(queue, { exclusive: true })
    const error = (await failure({ connection }, { queue, queueType: 'classic' })) as ConfigError
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toContain(`queue ${queue}: expected one that outlives its connection`)
    await connection.close()
  })

  it('leaves no connection behind when it fails', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    expect(await failure(tap.connect, { queue, setup: 'check' })).toBeInstanceOf(Error)
    const [model] = tap.models
    await expect(model?.createChannel()).rejects.toThrow(/closed/i)
  })

  it('ends a start that is stopped in its middle', async () => {
    const queue = rabbit.name()
    const tap = new Tap(rabbit.url)
    const { source } = rabbitSource(tap.connect, { queue })
    const opening = source.open(new RecordingIntake()).catch((error: unknown) => error)
    await source.close()
    expect(hasCode(await opening, 'STOPPED')).toBe(true)
    await expect(tap.models[0]?.createChannel()).rejects.toThrow(/closed/i)
  })

  it('tells its health while it connects; a stop closes the connection that comes after it', async () => {
    const tap = new Tap(rabbit.url)
    const gate = new Gate()
    const slowly = async (): ReturnType<typeof tap.connect> => {
      await gate.opened
      return tap.connect()
    }
    const sms = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })
    const running = runRabbit(slowly, sms, { queue: rabbit.name() })
    await eventually(() => running.health().checks['source'] === 'connecting')
    expect(running.health()).toMatchObject({ live: true, ready: false, state: 'starting' })
    const stopping = running.stop()
    expect(await running.ready()).toBe('stopped')
    gate.open()
    await stopping
    await expect(tap.models[0]?.createChannel()).rejects.toThrow(/closed/i)
    expect(tap.consuming).toEqual([])
  })

  it.each<[string, RabbitOptions]>([
    ['queue', { queue: '' }],
    ['deadLetter.queue', { queue: 'a', deadLetter: { queue: 'a' } }],
    ['prefetch', { queue: 'a', prefetch: 0 }],
    ['prefetch', { queue: 'a', prefetch: 1001 }],
    ['setup', { queue: 'a', setup: 'maybe' as never }],
    ['queueType', { queue: 'a', queueType: 'stream' as never }],
    ['lane', { queue: 'a', lane: 'key' as never }],
  ])('refuses a wrong %s', (name, options) => {
    expect(() => rabbitSource('amqp://localhost', options)).toThrow(new RegExp(`runRabbit: ${name}: expected`))
  })

  it.each(['http://localhost', 'secret@nowhere'])('refuses %s as a URL, without repeating it', (url) => {
    expect(() => rabbitSource(url, { queue: 'a' })).toThrow(
      /^connect: expected an amqp:\/\/ or amqps:\/\/ URL, got text that is none$/,
    )
  })
})
