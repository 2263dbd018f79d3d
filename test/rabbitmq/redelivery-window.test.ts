import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { rabbitSource, type RabbitOptions } from '../../adapters/amqplib/index.ts'
import type { Source } from '../../src/spi.ts'
import { SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { Rabbit } from './rabbit.ts'

let rabbit: Rabbit
const opened: Source[] = []

beforeAll(async () => {
  rabbit = await Rabbit.open()
}, SERVER_WITHIN_MS)
afterEach(() => Promise.all(opened.splice(0).map((source) => source.close())))
afterAll(() => rabbit[Symbol.asyncDispose]())

async function windowOf(options: RabbitOptions): Promise<unknown> {
  const { source } = rabbitSource(rabbit.url, options)
  opened.push(source)
  await source.open(new RecordingIntake())
  return source.redeliveryWindowMs?.()
}

describe('how long RabbitMQ can deliver a message again', () => {
  it('is for ever for a queue that is declared here', async () => {
    expect(await windowOf({ queue: rabbit.name() })).toBe('for-ever')
  })

  it.each([
    ['a TTL', { 'x-message-ttl': 60_000 }, 60_000],
    ['no TTL', {}, 'for-ever'],
  ])('is that of a foreign queue with %s', async (_, args, window) => {
    const queue = rabbit.name()
    await rabbit.declare(queue, { 'x-queue-type': 'quorum', ...args })
    expect(await windowOf({ queue, setup: 'off' })).toBe(window)
  })
})
