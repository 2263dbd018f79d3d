import { afterEach, describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import { pinoLog } from '../../../../adapters/pino/index.ts'
import type { StandardSchema } from '../../../../src/consumer/decode.ts'
import { defineConsumer } from '../../../../src/consumer/define-consumer.ts'
import { OutcomeUnknownError, TerminalError } from '../../../../src/foundation/errors.ts'
import { runInline } from '../../../../src/run/inline.ts'
import { memoryStore } from '../../../../src/memory/store.ts'
import { messageId } from '../../../../src/identity/message-id.ts'
import type { ConsumerOptions } from '../../../../src/consumer/options.ts'
import type { Logger } from '../../../../src/ports/logger.ts'
import type { Message } from '../../../../src/ports/message.ts'
import type { Sent } from '../../../kit/recording-source.ts'
import { endRigs, gate, startRig, World, type RigOptions } from '../../../kit/rig.ts'

afterEach(endRigs)

type Line = Readonly<Record<string, unknown>>

const RETRY = { initialMs: 100, maxMs: 100 }

/** Lines of a real pino, and of a logger that writes what it gets as JSON. */
const LOGGERS: readonly (readonly [string, (lines: Line[]) => Logger])[] = [
  [
    'pino',
    (lines) => {
      const keep = { write: (line: string): void => void lines.push(lined(line)) }
      return pinoLog(pino({ level: 'debug', formatters: { level: (level) => ({ level }) } }, keep))
    },
  ],
  [
    'a plain logger',
    (lines) => {
      const keep = (level: string) => (fields: object, msg: string) =>
        void lines.push(lined(JSON.stringify({ level, ...fields, msg })))
      return { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }
    },
  ],
]

describe.each(LOGGERS)('an error in the lines of %s', (_, loggerOf) => {
  async function loggedOf(thrown: () => unknown): Promise<Line> {
    const lines: Line[] = []
    const log = loggerOf(lines)
    const rig = await startRig({
      log,
      backoff: RETRY,
      effect: (work) => (work.attempt === 1 ? Promise.reject(thrown()) : work.apply()),
    })
    await rig.deliver('a')
    await rig.clock.advance(100)
    return lines.find(({ level }) => level === 'warn')?.['err'] as Line
  }

  it('has its class, message, code and frames [T129]', async () => {
    class ProviderError extends Error {
      override readonly name = 'ProviderError'
      readonly code = 'ECONNRESET'
      readonly payload = 'secret'
    }
    const logged = await loggedOf(() => new ProviderError('the provider hung up'))
    expect(logged).toMatchObject({ type: 'ProviderError', message: 'the provider hung up', code: 'ECONNRESET' })
    expect(logged['stack']).toMatch(/^ {4}at .*log\.test\.ts/)
    expect(JSON.stringify(logged)).not.toContain('secret')
  })

  it('has no more than ten frames, and nothing of a long message but its beginning [T128]', async () => {
    const logged = await loggedOf(() => deep(20, `${'x'.repeat(2_000)}\n    at secret`))
    expect(String(logged['message']).length).toBe(1_024)
    expect(String(logged['stack']).split('\n').length).toBe(10)
    expect(JSON.stringify(logged)).not.toContain('secret')
  })

  it.each([
    ['text', () => 'no', { type: 'string', message: 'no' }],
    ['a number as code', () => Object.assign(new Error('no'), { code: 7 }), { type: 'Error', code: 7 }],
    ['getters that throw', () => new Hostile('no'), { type: 'Error', message: 'no' }],
  ])('is told of whatever was thrown: %s', async (__, thrown, expected) => {
    expect(await loggedOf(thrown)).toMatchObject(expected)
  })
})

describe.each(LOGGERS)('what a source tells, in the lines of %s,', (_, loggerOf) => {
  it('is named by its event, and a warning where a person should see it', () => {
    const lines: Line[] = []
    const consumer = defineConsumer({ name: 'c', store: memoryStore(), handle: () => {}, log: loggerOf(lines) })
    const running = runInline(consumer, { group: 'g' })
    running.report({ type: 'source', event: 'rebuilt', detail: 'attempt 1' })
    running.report({ type: 'source', event: 'lost-by-retention', detail: '7 messages', isWarning: true })
    expect(lines).toMatchObject([
      { level: 'info', event: 'rebuilt', detail: 'attempt 1', msg: 'rebuilt' },
      { level: 'warn', event: 'lost-by-retention', detail: '7 messages', msg: 'lost-by-retention' },
    ])
  })
})

describe.each(LOGGERS)('a message that will not be tried again, in the lines of %s,', (_, loggerOf) => {
  const bad: StandardSchema<unknown, unknown> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: () => ({ issues: [{ message: 'expected text', path: ['to'] }] }),
    },
  }
  const terminal = { type: 'TerminalError', code: 'TERMINAL', message: 'no such number' }
  const unknown = { type: 'OutcomeUnknownError', code: 'OUTCOME_UNKNOWN', message: 'no answer' }

  it.each<readonly [string, Partial<RigOptions>, Sent, Line]>([
    [
      'its handler says so',
      { effect: () => Promise.reject(new TerminalError('no such number')) },
      sentAs('1'),
      { level: 'error', msg: 'dead-lettered', reason: 'handler-failed', attempt: 1, err: terminal },
    ],
    [
      'its attempts are spent',
      { maxAttempts: 2, backoff: RETRY, effect: () => Promise.reject(new TypeError('broken')) },
      sentAs('1'),
      { msg: 'dead-lettered', reason: 'attempts-spent', attempt: 2, err: { type: 'TypeError', message: 'broken' } },
    ],
    [
      'nobody knows what it did',
      { onInDoubt: 'park', effect: () => Promise.reject(new OutcomeUnknownError('no answer')) },
      sentAs('1'),
      { level: 'warn', msg: 'parked', reason: 'in-doubt', attempt: 1, err: unknown },
    ],
    [
      'it cannot be read',
      {},
      sentAs('secret'),
      {
        msg: 'dead-lettered',
        reason: 'undecodable',
        attempt: 0,
        err: { type: 'SyntaxError', message: "Unexpected token 's' is not valid JSON" },
      },
    ],
    [
      'it is not as its schema wants it',
      { payloadSchema: bad },
      sentAs('1'),
      { msg: 'dead-lettered', reason: 'schema', attempt: 0, detail: 'to: expected text' },
    ],
    [
      'it has no ID',
      {},
      { id: '' },
      {
        msg: 'dead-lettered',
        reason: 'no-id',
        detail: 'no message ID: header id holds empty text; expected text, bytes or a whole number up to 2^53 - 1',
      },
    ],
  ])('says why: %s', async (__, settings, sent, expected) => {
    const lines: Line[] = []
    const rig = await startRig({ log: loggerOf(lines), effect: (work) => work.apply(), ...settings })
    rig.source.deliver(sent)
    await rig.clock.advance(1_000)
    const last = lines.at(-1)
    expect(last).toMatchObject(expected)
    expect(JSON.stringify(lines)).not.toContain('secret')
    const { err: _err, level: _level, msg, ...told } = expected
    expect(rig.events.at(-1)).toMatchObject({ type: 'delivery', outcome: msg, ...told })
    const { error } = rig.events.at(-1) as { readonly error?: unknown }
    expect(error !== undefined).toBe('err' in expected)
  })

  it('says what left it in doubt, before its attempts are spent on that', async () => {
    const lines: Line[] = []
    const rig = await startRig({
      log: loggerOf(lines),
      backoff: RETRY,
      maxAttempts: 1,
      effect: () => Promise.reject(new OutcomeUnknownError('no answer')),
    })
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(lines).toContainEqual(expect.objectContaining({ err: expect.objectContaining(unknown) }))
    expect(lines.at(-1)).toMatchObject({ msg: 'parked', reason: 'attempts-spent', attempt: 1 })
  })
})

describe.each(LOGGERS)('a message, in the lines of %s,', (_, loggerOf) => {
  const PLACE = { system: 'memory', destination: 'topic', position: '0@0' }
  const unknown = { effect: (): never => fail(new OutcomeUnknownError('no answer')) }

  it('is named by its whole key, everywhere the same, and by where it is', async () => {
    const lines: Line[] = []
    const rig = await startRig({
      log: loggerOf(lines),
      backoff: RETRY,
      maxAttempts: 2,
      effect: () => fail(new Error('broken')),
    })
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    const [deadLetter] = rig.source.deadLetters
    expect(deadLetter?.key).toMatch(/^[\w-]{22}$/)
    expect(lines.map(({ msg }) => msg)).toEqual(['attempt failed, will be tried again', 'dead-lettered'])
    for (const line of lines) expect(line).toMatchObject({ ...PLACE, consumer: 'consumer', key: deadLetter?.key })
    expect(lines.every((line) => !('id' in line))).toBe(true)
  })

  it('is named by its ID too, where logIds asks for it', async () => {
    const lines: Line[] = []
    const rig = await startRig({ log: loggerOf(lines), logIds: true, effect: (work) => work.apply() })
    await rig.deliver('order-17')
    expect(lines).toMatchObject([{ msg: 'handled', id: 'order-17' }])
  })

  it.each([
    ['rerun', 'runs again, alone'],
    ['park', 'is set aside as parked, for a person'],
  ] as const)('that is in doubt is told with its attempt, and what follows under %s', async (policy, next) => {
    const lines: Line[] = []
    const rig = await startRig({ log: loggerOf(lines), onInDoubt: policy, ...unknown })
    await rig.deliver('a')
    expect(lines[0]).toMatchObject({
      ...PLACE,
      level: 'warn',
      attempt: 1,
      policy,
      next,
      msg: expect.stringMatching(/^in doubt/),
    })
    expect(rig.events.find(({ type }) => type === 'in-doubt')).toMatchObject({ attempt: 1, policy })
  })

  it('that another process has left in doubt is told with the attempt of that one', async () => {
    const world = new World()
    const first = await startRig({ world, effect: () => new Promise(() => {}) })
    await first.deliver('a')
    first.store.isDown = true
    await first.clock.advance(200_000)
    const lines: Line[] = []
    const second = await startRig({ world, log: loggerOf(lines), onInDoubt: () => 'happened', effect: () => {} })
    await second.deliver('a')
    await second.clock.advance(1_000)
    expect(lines.find(({ msg }) => String(msg).startsWith('in doubt'))).toMatchObject({
      ...PLACE,
      attempt: 1,
      policy: 'reconcile',
      next: expect.stringContaining('reconcile'),
    })
  })

  it('that waits for a person says which command decides it', async () => {
    const lines: Line[] = []
    const rig = await startRig({ log: loggerOf(lines), onInDoubt: 'park', ...unknown })
    await rig.deliver('a')
    const key = rig.source.deadLetters[0]?.key
    expect(lines.at(-1)).toMatchObject({
      msg: 'parked',
      next: expect.stringContaining(`consume-once resolve consumer --done --reason WHY ${key}`),
    })
  })

  it('that was given up says which command lets it run, and one without an ID that the store has no record', async () => {
    const lines: Line[] = []
    const rig = await startRig({ log: loggerOf(lines), effect: () => fail(new TerminalError('no such number')) })
    await rig.deliver('a', {})
    const key = rig.source.deadLetters.find((deadLetter) => deadLetter.key !== undefined)?.key
    expect(lines.filter(({ msg }) => msg === 'dead-lettered')).toMatchObject([
      { reason: 'no-id', next: expect.stringContaining('the store has no record of it') },
      {
        reason: 'handler-failed',
        next: expect.stringContaining(`consume-once reopen consumer --reason WHY ${key}`),
      },
    ])
  })
})

describe.each(LOGGERS)('refused settles, in the lines of %s,', (_, loggerOf) => {
  it('are counted, and told once for a partition, while the observer is told of each', async () => {
    const lines: Line[] = []
    const held = gate()
    const rig = await startRig({ log: loggerOf(lines), effect: (work) => held.opened.then(work.apply) })
    const old = await rig.deliver(...Array.from({ length: 20 }, (__, at) => `m-${at}`))
    rig.source.stand('stale', ...old)
    held.open()
    await rig.clock.advance(0)
    expect(rig.outcomes()).toEqual(Array(20).fill('settle-refused'))
    expect(lines.filter(({ level }) => level !== 'debug')).toEqual([])
    await rig.clock.advance(10_000)
    expect(lines.filter(({ level }) => level !== 'debug')).toMatchObject([
      { level: 'info', destination: 'topic', partition: '0', count: 20, refused: { handled: 20 } },
    ])
  })

  it('are told at the stop', async () => {
    const lines: Line[] = []
    const held = gate()
    const rig = await startRig({ log: loggerOf(lines), effect: (work) => held.opened.then(work.apply) })
    rig.source.stand('stale', ...(await rig.deliver('a')))
    held.open()
    await rig.clock.advance(0)
    await rig.running.stop()
    expect(lines.at(-1)).toMatchObject({ count: 1, refused: { handled: 1 } })
  })
})

describe.each(LOGGERS)('what is remembered, in the lines of %s,', (_, loggerOf) => {
  async function linesOf(
    options: Partial<ConsumerOptions<unknown, unknown, never>>,
    timestamp?: number,
  ): Promise<readonly Line[]> {
    const lines: Line[] = []
    const settings = {
      name: 'c',
      store: memoryStore(),
      id: messageId.header('id'),
      log: loggerOf(lines),
      handle: () => {},
    }
    const consumer = defineConsumer({ ...settings, ...options } as ConsumerOptions<unknown, unknown, never>)
    await using running = runInline(consumer, { group: 'g' })
    await running.handle({ ...MESSAGE, timestamp })
    return lines
  }

  it('a result is not told', async () => {
    const lines = await linesOf({ rememberResult: true, handle: () => 'secret' })
    expect(lines.at(-1)).toMatchObject({ level: 'debug', msg: 'handled' })
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  it('a failure is told as one, without what it says', async () => {
    const lines = await linesOf({ rememberFailure: () => true, handle: () => Promise.reject(new Error('secret')) })
    expect(lines.at(-1)).toMatchObject({ level: 'debug', msg: 'handled', failure: true })
    expect(JSON.stringify(lines)).not.toContain('secret')
  })

  it('a result that could not be kept is an error', async () => {
    const lines = await linesOf({ rememberResult: true, handle: () => 7n })
    expect(lines).toMatchObject([
      { level: 'error', err: { code: 'RESULT_NOT_KEPT' }, msg: expect.stringContaining('result not kept') },
      { level: 'debug', msg: 'handled', failure: true },
    ])
  })

  it('a rememberFailure that throws is an error', async () => {
    const lines = await linesOf({
      handle: () => Promise.reject(new TerminalError('no such number')),
      rememberFailure: () => {
        throw new TypeError('a mistake')
      },
    })
    expect(lines[0]).toMatchObject({ level: 'error', policy: 'rememberFailure', err: { type: 'TypeError' } })
    expect(lines.at(-1)).toMatchObject({ msg: 'dead-lettered' })
  })

  it('what is beyond retention is told at the level of what is handled: each message of a replay may be', async () => {
    const lines = await linesOf({ onBeyondRetention: 'skip' }, 1)
    expect(lines).toMatchObject([
      { level: 'debug', policy: 'skip', timestamp: 1 },
      { level: 'debug', msg: 'duplicate', reason: 'beyond-retention' },
    ])
  })
})

const MESSAGE: Message = {
  system: 'rabbitmq',
  destination: 'queue',
  origin: 'queue',
  position: '1',
  key: null,
  value: Buffer.from('{}'),
  headers: { id: 'a' },
}

class Hostile extends Error {
  get code(): string {
    throw new Error('a getter')
  }
}

function deep(calls: number, message: string): Error {
  return calls === 0 ? new Error(message) : deep(calls - 1, message)
}

function fail(error: Error): never {
  throw error
}

function sentAs(json: string): Sent {
  return { id: 'a', bytes: Buffer.from(json) }
}

function lined(line: string): Line {
  return JSON.parse(line) as Line
}

describe('a line that the logger would drop', () => {
  it('is not made: nothing is read of the message for it', async () => {
    const lines: string[] = []
    const keep = (level: string) => (_: object, text: string) => void lines.push(`${level} ${text}`)
    const log: Logger = {
      debug: keep('debug'),
      info: keep('info'),
      warn: keep('warn'),
      error: keep('error'),
      isLevelEnabled: (level) => level !== 'debug',
    }
    const rig = await startRig({
      log,
      maxAttempts: 1,
      effect: (work) => (work.id === 'bad' ? Promise.reject(new Error('broken')) : work.apply()),
    })
    await rig.deliver('a', 'a', 'bad')
    expect(rig.outcomes().toSorted()).toEqual(['dead-lettered', 'handled', 'joined'])
    expect(lines).toEqual(['error dead-lettered'])
  })

  it('is what pino says it is', async () => {
    const lines: Line[] = []
    const keep = { write: (line: string): void => void lines.push(lined(line)) }
    const rig = await startRig({ log: pinoLog(pino({ level: 'info' }, keep)), effect: (work) => work.apply() })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['handled'])
    expect(lines).toEqual([])
  })

  it('is made at debug, with the time that the delivery took', async () => {
    const lines: Line[] = []
    const keep = { write: (line: string): void => void lines.push(lined(line)) }
    const rig = await startRig({ log: pinoLog(pino({ level: 'debug' }, keep)), effect: (work) => work.apply() })
    await rig.deliver('a')
    expect(lines).toMatchObject([{ msg: 'handled', duration_ms: 0 }])
  })
})
