import { describe, expect, it } from '@jest/globals'
import { resolveRabbitOptions } from '../../../adapters/amqplib/options/resolve.ts'
import { resolveKafka } from '../../../adapters/kafka/options/resolve.ts'
import { stageFor, type Message, type RetryCopy } from '../../../src/internal.ts'

const MINUTE_MS = 60_000

function copyFor(delayMs: number): RetryCopy {
  const message = { origin: 'sms', destination: 'sms' } as Message
  return { why: 'busy', attempts: 0, delayMs, message } as RetryCopy
}

function onKafka(...delays: readonly number[]): (leftMs: number) => number {
  const retry = { topics: delays.map((delayMs) => ({ delayMs })) }
  const { topology } = resolveKafka({ topics: ['sms'], group: 'sms-sender', retry })
  return (leftMs) => topology.retryPlace(copyFor(leftMs)).delayMs
}

function onRabbit(...delayQueues: readonly number[]): (leftMs: number) => number {
  const { retry } = resolveRabbitOptions({ queue: 'sms', retry: { delayQueues } })
  if (retry.kind !== 'delay-queues') throw new TypeError('delay queues were given')
  return (leftMs) => stageFor(retry.queues, copyFor(leftMs)).delayMs
}

/** The most that messages run late which are due in 1 s to 8 h, in retry places alone. */
function latestMs(stageOf: (leftMs: number) => number): number {
  let latest = 0
  for (let dueInMs = 1_000; dueInMs <= 8 * 60 * MINUTE_MS; dueInMs += 1_000) {
    let leftMs = dueInMs
    while (leftMs > 0) leftMs -= stageOf(leftMs)
    latest = Math.max(latest, -leftMs)
  }
  return latest
}

describe.each([
  ['Kafka', onKafka],
  ['RabbitMQ', onRabbit],
])('a message that is put off until a time on %s', (_, on) => {
  it('is less than a minute late with stages of 10 s and a minute, as docs/limits.md says', () => {
    expect(latestMs(on(10_000, MINUTE_MS))).toBe(49_000)
  })

  it('is as late as the largest step between two stages, the first counted from 0', () => {
    expect(latestMs(on(MINUTE_MS, 60 * MINUTE_MS))).toBe(59 * MINUTE_MS - 1_000)
    expect(latestMs(on(60 * MINUTE_MS))).toBe(60 * MINUTE_MS - 1_000)
  })
})
