import { openedOnce } from '../../kit/opened.ts'
import { RecordingIntake } from '../../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { connect, type ChannelModel } from 'amqplib'
import { connect as connectWithOldest } from 'amqplib-0.10'
import { rabbitSubscription, type RabbitOptions } from '../../../adapters/amqplib/index.ts'
import type { ConfigError } from '../../../src/index.ts'
import { Consumers } from '../consumers.ts'
import { OwnChannels } from '../own-channels.ts'

const STREAM = { 'x-queue-type': 'stream' }
const CHECKED = {
  strategy: 'lease',
  retentionMs: 60_000,
  onBeyondRetention: 'run',
  leaseMs: 30_000,
  longestRunMs: 65_000,
  maxAttempts: 5,
} as const

let own: OwnChannels
const consumers = new Consumers()
const models: ChannelModel[] = []

openedOnce(OwnChannels, (made) => (own = made))
afterEach(async () => {
  await consumers.end()
  await own.end()
  await Promise.all(models.splice(0).map((model) => model.close()))
})

/** What a start is refused with; empty: it consumes. */
async function refusal(url: string, options: RabbitOptions): Promise<string> {
  const { source } = consumers.broker(url, options)
  const error = await source.open(new RecordingIntake()).catch((cause: unknown) => cause)
  if (error === undefined) return ''
  expect((error as ConfigError).code).toBe('CONFIG_INVALID')
  return (error as ConfigError).message
}

describe('a stream', () => {
  it.each(['auto', 'check', 'off'] as const)('is not consumed, and doctor says the same (setup: %s)', async (setup) => {
    const queue = await own.queue(STREAM)
    const options: RabbitOptions = { queue, setup, deadLetter: { exchange: 'amq.topic' } }
    const said = await refusal(own.rabbit.url, options)
    expect(said).toContain(`queue ${queue}: x-queue-type stream. Streams are not supported`)
    expect(said).not.toContain("setup: 'check'")
    expect(await own.rabbit.consumers(queue)).toBe(0)
    const findings = await rabbitSubscription(own.rabbit.url, options).checkup?.(CHECKED)
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'rabbitmq.queue-type',
        verdict: 'broken',
        found: expect.stringContaining(queue),
      }),
    )
  })

  it('may hold dead letters, and doctor says what that costs', async () => {
    const queue = await own.queue()
    await own.rabbit.declare(`${queue}.dead-letter`, STREAM)
    expect(await refusal(own.rabbit.url, { queue, setup: 'check' })).toBe('')
    const findings = await rabbitSubscription(own.rabbit.url, { queue, setup: 'check' }).checkup?.(CHECKED)
    expect(findings?.filter(({ verdict }) => verdict === 'broken')).toEqual([])
  })
})

describe("onMessage on a channel of the user's own", () => {
  it.each([
    ['2', connect],
    ['0.10', connectWithOldest],
  ])('handles and acks nothing of a stream, and says so (amqplib %s)', async (_, connectWith) => {
    const queue = await own.queue(STREAM)
    const model = (await connectWith(own.rabbit.url)) as unknown as ChannelModel
    models.push(model)
    const channel = await model.createChannel()
    await channel.prefetch(10)
    let handled = 0
    const { frames, watching, made } = await own.consume(queue, () => handled++, { queue, channel })
    await own.rabbit.send(queue, ['a', 'b', 'c'])
    await watching.until(() => watching.told('stream-queue') > 0 || handled > 0)
    await own.rabbit.send(queue, ['d'])
    expect(made.health()).toMatchObject({
      live: true,
      ready: false,
      checks: { source: expect.stringContaining('Streams are not supported') },
    })
    await made.stop()
    expect({ handled, frames }).toEqual({ handled: 0, frames: [] })
  })

  it('handles what was copied from a stream into a queue, in its order', async () => {
    const queue = await own.queue()
    const handled: string[] = []
    await own.rabbit.send(queue, ['a', 'b'], { headersOf: () => ({ 'x-stream-offset': 7 }) })
    const { watching, made } = await own.consume(queue, ({ payload }) => handled.push(payload), { queue })
    await own.rabbit.send(queue, ['c'], { headersOf: () => ({ 'x-stream-offset': 8 }) })
    await watching.untilOutcomes('handled', 3)
    expect(handled).toEqual(['a', 'b', 'c'])
    expect(made.health()).toMatchObject({ ready: true, checks: { source: 'ok' } })
  })

  it('cannot ask without the name of the queue: such messages wait until another proves that it is no stream', async () => {
    const queue = await own.queue()
    const handled: string[] = []
    await own.rabbit.send(queue, ['a'], { headersOf: () => ({ 'x-stream-offset': 7 }) })
    const { watching, made } = await own.consume(queue, ({ payload }) => handled.push(payload))
    await watching.untilTold('stream-queue')
    expect(made.health()).toMatchObject({
      ready: false,
      checks: { source: expect.stringContaining('the option queue') },
    })
    await own.rabbit.send(queue, ['b'])
    await watching.untilOutcomes('handled', 2)
    expect(handled).toEqual(['a', 'b'])
    expect(made.health()).toMatchObject({ ready: true })
  })
})
