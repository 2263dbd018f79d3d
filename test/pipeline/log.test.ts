import { afterEach, describe, expect, it } from '@jest/globals'
import { pino } from 'pino'
import { pinoLog } from '../../adapters/pino/index.ts'
import type { StandardSchema } from '../../src/decode.ts'
import { defineConsumer } from '../../src/define-consumer.ts'
import { OutcomeUnknownError, TerminalError } from '../../src/errors.ts'
import { runInline } from '../../src/inline.ts'
import { memoryStore } from '../../src/memory/store.ts'
import { messageId } from '../../src/message-id.ts'
import type { ConsumerOptions } from '../../src/options.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { Message } from '../../src/ports/message.ts'
import type { Sent } from '../support/recording-source.ts'
import { endRigs, startRig, type RigOptions } from '../support/rig.ts'

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
      retry: RETRY,
      effect: (work) => (work.attempt === 1 ? Promise.reject(thrown()) : work.apply()),
    })
    await rig.deliver('a')
    await rig.clock.advance(100)
    return lines.find(({ level }) => level === 'warn')?.['err'] as Line
  }

  it('has its class, message, code and frames', async () => {
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

  it('has no more than ten frames, and nothing of a long message but its beginning', async () => {
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
      { maxAttempts: 2, retry: RETRY, effect: () => Promise.reject(new TypeError('broken')) },
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
      { schema: bad },
      sentAs('1'),
      { msg: 'dead-lettered', reason: 'schema', attempt: 0, detail: 'to: expected text' },
    ],
    [
      'it has no ID',
      {},
      { id: '' },
      { msg: 'dead-lettered', reason: 'no-id', detail: 'no message ID, or one that is repeated with different values' },
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
      retry: RETRY,
      maxAttempts: 1,
      effect: () => Promise.reject(new OutcomeUnknownError('no answer')),
    })
    await rig.deliver('a')
    await rig.clock.advance(1_000)
    expect(lines).toContainEqual(expect.objectContaining({ err: expect.objectContaining(unknown) }))
    expect(lines.at(-1)).toMatchObject({ msg: 'parked', reason: 'attempts-spent', attempt: 1 })
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

function sentAs(json: string): Sent {
  return { id: 'a', bytes: Buffer.from(json) }
}

function lined(line: string): Line {
  return JSON.parse(line) as Line
}
