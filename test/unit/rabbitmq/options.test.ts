import { describe, expect, it } from '@jest/globals'
import { runRabbit, type RabbitConnect, type RabbitOptions } from '../../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../../adapters/amqplib/source-and-publisher.ts'
import { fitToCapacity } from '../../../adapters/amqplib/options/fit.ts'
import { resolveRabbitOptions } from '../../../adapters/amqplib/options/resolve.ts'
import { defineConsumer, type ConfigError } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { type Capacity } from '../../../src/internal.ts'
import { freePort } from '../../kit/servers/ports.ts'

const CAPACITY: Capacity = {
  maxInFlight: 1000,
  handlers: 50,
  claims: 50,
  leaseMs: 30_000,
  longestRunMs: 65_000,
  maxAttempts: 5,
}

function problemsOf(options: object): string {
  try {
    rabbitSource('amqp://localhost', { queue: 'sms', ...options })
    return ''
  } catch (error) {
    return (error as ConfigError).message
  }
}

function fitted(options: Partial<RabbitOptions>, capacity: Partial<Capacity> = {}): ReturnType<typeof fitToCapacity> {
  return fitToCapacity(resolveRabbitOptions({ queue: 'sms', ...options }), { ...CAPACITY, ...capacity })
}

describe('options of runRabbit', () => {
  it('refuses misspelt and misplaced names, and says where they belong', () => {
    expect(problemsOf({ prefech: 5 })).toMatch(/^runRabbit: prefech: unknown option; did you mean prefetch\?/)
    expect(problemsOf({ concurrency: 5 })).toBe('runRabbit: concurrency: give it to defineConsumer()')
    expect(problemsOf({ whenBusy: 'wait' })).toBe('runRabbit: whenBusy: give it to defineConsumer()')
    expect(problemsOf({ heartbeat: 5 })).toBe('runRabbit: heartbeat: give it to the connection, the first argument')
    expect(problemsOf({ delayQueues: [1] })).toBe('runRabbit: delayQueues: give it inside of retry')
    expect(problemsOf({ noAck: true })).toMatch(/^runRabbit: noAck: leave it out: /)
    expect(problemsOf({ retry: { delayQueues: [1], busyWait: 1 } })).toMatch(/retry\.busyWait: unknown option/)
    expect(problemsOf({ retry: { delayQueues: [{ delayMs: 1, name: 'a' }] } })).toMatch(
      /retry\.delayQueues\[0\]\.name: unknown option; expected one of delayMs, queue/,
    )
    expect(problemsOf({ retry: { delayedByQueue: { minMs: 1, maxMs: 1, type: 'all' } } })).toMatch(
      /retry\.delayedByQueue\.type: unknown option/,
    )
  })

  it('tells all problems in one error', () => {
    const message = problemsOf({ queue: '', prefetch: 0, qeueType: 'quorum', setup: 'no', retry: { delayQueues: 1 } })
    expect(problemsOf({ leaveAfterMs: 'never' })).toBe('')
    for (const name of ['queue', 'prefetch', 'qeueType', 'setup', 'retry']) {
      expect(message).toMatch(new RegExp(`runRabbit: ${name}\\b.*: `))
    }
  })

  it.each<[string, object, string]>([
    ['no delay', { delayQueues: [] }, 'retry.delayQueues: expected at least one, in a list, of delays, got none'],
    ['a delay of nothing', { delayQueues: [0] }, 'retry.delayQueues[0]: expected a whole number from 1 to 2147483647'],
    ['a delay twice', { delayQueues: [5, 5] }, 'retry.delayQueues: expected each queue once, got sms.retry.5 twice'],
    ['a delay queue with a direction mark', { delayQueues: [{ delayMs: 5, queue: 'sms\u202E' }] }, 'queue'],
    ['its own queue', { delayQueues: [{ delayMs: 5, queue: 'sms' }] }, 'expected other queues than the one consumed'],
    [
      'its dead-letter queue',
      { delayQueues: [{ delayMs: 5, queue: 'sms.dead-letter' }] },
      'deadLetter.queue: expected none of the delay queues, got sms.dead-letter',
    ],
    [
      'two ways',
      { delayQueues: [5], delayedByQueue: { minMs: 1, maxMs: 2 } },
      'retry: expected delayQueues or delayedByQueue, got both',
    ],
    ['neither way', {}, 'retry: expected delayQueues or delayedByQueue, got neither'],
    ['its own wait', { delayQueues: [5], busyWaitMs: 5 }, 'retry.busyWaitMs: give it to defineConsumer(), as whenBusy'],
    [
      'maxMs below minMs',
      { delayedByQueue: { minMs: 5, maxMs: 4 } },
      'retry.delayedByQueue.maxMs: expected at least minMs (5), got 4',
    ],
    [
      'the age of copies that are none',
      { delayedByQueue: { minMs: 5, maxMs: 5 }, overdueAfterMs: 5 },
      'retry.overdueAfterMs: leave it out',
    ],
  ])('refuses retry with %s', (_what, retry, expected) => {
    expect(problemsOf({ retry })).toContain(expected)
  })

  it('refuses a delayed retry of a classic queue, which delays nothing', () => {
    expect(problemsOf({ queueType: 'classic', retry: { delayedByQueue: { minMs: 1, maxMs: 2 } } })).toContain(
      'retry.delayedByQueue: expected queueType "quorum", got "classic"',
    )
  })

  it.each<[string, object, string]>([
    [
      'queue and exchange',
      { deadLetter: { queue: 'a', exchange: 'b' } },
      'deadLetter.queue: leave it out with exchange',
    ],
    ['a key alone', { deadLetter: { routingKey: 'a' } }, 'deadLetter.routingKey: leave it out without exchange'],
    [
      'another way',
      { deadLetter: 'drop' },
      'deadLetter: expected "reject" or { queue, exchange, routingKey }, got "drop"',
    ],
    ['nothing', { deadLetter: null }, 'deadLetter: expected "reject" or { queue, exchange, routingKey }, got null'],
    ['an unknown name', { deadLetter: { topic: 'a' } }, 'deadLetter.topic: unknown option'],
    ['an empty exchange', { deadLetter: { exchange: '' } }, 'deadLetter.exchange: expected a name of 1 to 255 bytes'],
  ])('refuses dead letters by %s', (_what, options, expected) => {
    expect(problemsOf(options)).toContain(expected)
  })

  it.each([
    { claims: 1, prefetch: 10 },
    { claims: 50, prefetch: 100 },
    { claims: 400, prefetch: 800 },
    { claims: 2000, prefetch: 1000 },
  ])('takes twice the $claims messages that can be claimed at once as prefetch, from 10 to 1000', (of) => {
    expect(fitted({}, { handlers: 1, claims: of.claims }).settings.prefetch).toBe(of.prefetch)
  })

  it.each([
    [{ perSecond: 100 }, {}, 100],
    [{ perSecond: 0.1 }, {}, 18],
    [{ perSecond: 0.1 }, { consumerTimeoutMs: 120_000 }, 1],
    [{ perSecond: 0.01 }, { consumerTimeoutMs: 120_000 }, 1],
  ])(
    'fetches with a limit what it lets through in a tenth of the consumer timeout: %p, %p',
    (rate, options, prefetch) => {
      const fit = fitted(options, rate)
      expect(fit.settings.prefetch).toBe(prefetch)
      expect(fit.warning).toBeUndefined()
    },
  )

  it('warns of a prefetch that waits for its limit until the broker takes it back', () => {
    expect(fitted({ prefetch: 100 }, { perSecond: 1 }).warning).toBeUndefined()
    expect(fitted({ prefetch: 100 }, { perSecond: 0.1 }).warning).toBe(
      'prefetch: 100 messages at 0.1 a second (limit) wait up to 1000 s, and the broker takes back what is unacked for 30 min: lower prefetch, or leave it out',
    )
  })

  it('refuses a prefetch below the handlers that run at once, naming both', () => {
    expect(fitted({ prefetch: 50 }).settings.prefetch).toBe(50)
    expect(() => fitted({ prefetch: 49 })).toThrow(
      /^RabbitMQ: prefetch: expected at least the 50 handlers that the consumer runs at once, got 49: /,
    )
  })

  it('tells a number that is none from nothing', () => {
    expect(problemsOf({ prefetch: Number('many') })).toContain(
      'prefetch: expected a whole number from 1 to 1000, got NaN',
    )
  })

  it('takes the largest prefetch there is for more handlers than that [T149]', () => {
    expect(fitted({ prefetch: 1000 }, { handlers: 1001 }).settings.prefetch).toBe(1000)
  })

  it('takes a prefetch below what an inbox could claim at once: its batches are smaller', () => {
    expect(fitted({ prefetch: 100 }, { handlers: 4, claims: 2000 }).settings.prefetch).toBe(100)
  })

  it('refuses a consumer timeout that lease or handler outlast, and warns where the default is near [T85]', () => {
    expect(fitted({ consumerTimeoutMs: 65_001 }).warning).toBeUndefined()
    expect(() => fitted({ consumerTimeoutMs: 30_000 })).toThrow(
      /consumerTimeoutMs: expected more than the lease \(30000\), got 30000[\s\S]*than the longest run of a handler/,
    )
    expect(fitted({}).warning).toBeUndefined()
    expect(fitted({}, { longestRunMs: 16 * 60_000 }).warning).toMatch(/may be under way for 16 min/)
  })
})

const factory = (): Promise<never> => Promise.reject(new Error('not opened'))

describe('two consumers of different names on one queue of a process', () => {
  const taken = expect.objectContaining({
    code: 'CONSUMER_NAME_TAKEN',
    message: expect.stringMatching(/"mail".*"sms"/),
  })

  it.each<[string, RabbitConnect]>([
    ['by the same URL', 'amqp://rabbit'],
    ['with another user, and the default port written out', 'amqp://user:secret@RABBIT:5672/'],
    ['with the virtual host written out', 'amqp://rabbit/%2F?heartbeat=5'],
    ['by options', { hostname: 'rabbit' }],
  ])('are refused while the first one runs, %s', async (_, connect) => {
    const first = rabbitSource('amqp://rabbit', { queue: 'q' }, 'sms')
    expect(() => rabbitSource(connect, { queue: 'q' }, 'mail')).toThrow(taken)
    const second = rabbitSource(connect, { queue: 'q' }, 'sms')
    await first.source.close()
    expect(() => rabbitSource(connect, { queue: 'q' }, 'mail')).toThrow(taken)
    await second.source.close()
    await rabbitSource(connect, { queue: 'q' }, 'mail').source.close()
  })

  it('are not refused on another queue, virtual host, port or connection', async () => {
    const brokers = [
      rabbitSource('amqp://rabbit', { queue: 'q' }, 'sms'),
      rabbitSource('amqp://rabbit', { queue: 'other' }, 'mail'),
      rabbitSource('amqp://rabbit/other', { queue: 'q' }, 'chat'),
      rabbitSource('amqps://rabbit', { queue: 'q' }, 'push'),
      rabbitSource(factory, { queue: 'q' }, 'fax'),
    ]
    expect(() => rabbitSource(factory, { queue: 'q' }, 'mail')).toThrow('"mail" where "fax"')
    await Promise.all(brokers.map(({ source }) => source.close()))
  })

  it('are not refused where the start of the first one has failed', async () => {
    const url = `amqp://127.0.0.1:${await freePort()}`
    for (const name of ['sms', 'mail']) {
      const settings = { id: () => 'a', decode: () => '', handle: () => {} }
      const consumer = defineConsumer({ name, store: memoryStore(), ...settings })
      await expect(runRabbit(url, consumer, { queue: 'q' })).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' })
    }
  })
})
