import { openedOnce } from '../kit/opened.ts'
import { RecordingIntake } from '../kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type RabbitOptions } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type { Source } from '../../src/internal.ts'
import { Rabbit } from './rabbit.ts'

let rabbit: Rabbit
const opened: Source[] = []

openedOnce(Rabbit, (made) => (rabbit = made))
afterEach(() => Promise.all(opened.splice(0).map((source) => source.close())))

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
