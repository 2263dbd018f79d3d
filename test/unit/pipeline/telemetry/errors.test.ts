import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { describe, expect, it, jest } from '@jest/globals'
import * as errors from '../../../../src/foundation/errors.ts'
import {
  BrokerError,
  ConfigError,
  ConsumeOnceError,
  describeError,
  ERROR_CODES,
  errorClass,
  hasCode,
  InvariantError,
  isConsumeOnceError,
  LeaseLostError,
  NoEffectError,
  OnceError,
  OutcomeUnknownError,
  ReplayError,
  StoppedError,
  StoreError,
  TerminalError,
  TransactionError,
} from '../../../../src/foundation/errors.ts'
import { RetryLaterError } from '../../../../src/foundation/retry-later.ts'

const EVERY: readonly ConsumeOnceError[] = [
  new ConfigError(['one']),
  new ConfigError(['one'], 'CONSUMER_NAME_TAKEN'),
  new StoreError('STORE_UNREACHABLE', 'x'),
  new StoreError('STORE_AMBIGUOUS', 'x'),
  new StoreError('STORE_MISUSED', 'x'),
  new BrokerError('BROKER_UNREACHABLE', 'x'),
  new BrokerError('BROKER_PUBLISH_REFUSED', 'x'),
  new LeaseLostError('LEASE_LOST', 'x'),
  new LeaseLostError('DELIVERY_LOST', 'x'),
  new LeaseLostError('HANDLER_TIMEOUT', 'x'),
  new RetryLaterError({ afterMs: 1 }),
  new NoEffectError('x'),
  new OutcomeUnknownError('x'),
  new TerminalError('x'),
  new TerminalError('x', {}, 'RESULT_NOT_KEPT'),
  new TerminalError('x', {}, 'RESULT_UNREADABLE'),
  new TransactionError('FLOATING_QUERY', 'x'),
  new TransactionError('COMMIT_REFUSED', 'x'),
  new TransactionError('TRANSACTION_OVER', 'x'),
  new InvariantError('place', 'x'),
  new ReplayError('REPLAY_REFUSED', 'x'),
  new ReplayError('REPLAY_RANGE_LOST', 'x'),
  new ReplayError('DECODER_UNREACHABLE', 'x'),
  new StoppedError('x'),
  new OnceError('ONCE_BUSY', 'x'),
  new OnceError('ONCE_CONFLICT', 'x'),
  new OnceError('ONCE_SET_ASIDE', 'x', 'in-doubt'),
]

describe('errors', () => {
  it('carry each a code of the table, and each code belongs to an error', () => {
    expect(EVERY.map(({ code }) => code).toSorted()).toEqual(Object.keys(ERROR_CODES).toSorted())
  })

  it('have a heading in docs/errors.md for each code', () => {
    const headings = readFileSync('docs/errors.md', 'utf8').match(/^#+ .*$/gm) ?? []
    for (const code of Object.keys(ERROR_CODES)) {
      expect(headings).toContainEqual(expect.stringContaining(code))
    }
  })

  it('are named after their class, and are Errors', () => {
    for (const error of EVERY) {
      expect(error).toBeInstanceOf(Error)
      expect(error.name).toBe(error.constructor.name)
    }
  })

  it('keep their cause', () => {
    const cause = new Error('socket closed')
    expect(new TerminalError('x', { cause }).cause).toBe(cause)
    const own = new StoreError('STORE_AMBIGUOUS', 'x', { cause })
    expect(new StoreError('STORE_UNREACHABLE', 'x', { cause: own }).cause).toBe(own)
  })

  it('keep what MariaDB says about a password, and what follows it', () => {
    const text = "Access denied for user 'a'@'b' (using password: YES). Correct the user"
    expect(describeError(new Error(text))).toContain(text)
    expect(describeError(new Error(text.replace('YES', 'NO')))).toContain('(using password: NO). Correct')
    const option = 'basicAuth: users[0].password: expected at least 8 characters, got 3'
    expect(describeError(new Error(option))).toBe(option)
    expect(describeError(new Error('(using password: YES) password: yes, hunter2'))).toContain('YES) password: ***')
  })

  it('of clients and servers tell name, message, code and frames of their cause, and nothing that the client was given [T120]', () => {
    class ReplyError extends Error {
      override readonly name = 'ReplyError'
      readonly code = 'WRONGPASS'
      readonly errno = 7
      readonly command = { name: 'hello', args: ['3', 'AUTH', 'us', 'hunter2'] }
      readonly input = 'amqp://us:hunter2@rabbit'
    }
    const inner = Object.assign(new AggregateError([new ReplyError('refused')], 'at redis://us:hun@ter2@cache:6379'), {
      cause: new ReplyError("ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'us' 'hunter2'"),
    })
    for (const Failure of [StoreError, BrokerError, TransactionError]) {
      const error = new Failure('STORE_UNREACHABLE' as never, 'at amqp://us:hunter2@rabbit', { cause: inner })
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(/hunter2|ter2/)
      expect(error.cause).toMatchObject({
        name: 'AggregateError',
        message: 'at redis://***@cache:6379',
        errors: [{ name: 'ReplyError', message: 'refused', code: 'WRONGPASS', errno: 7 }],
        cause: { name: 'ReplyError', message: "ERR unknown command 'HELLO', with args beginning with: ***" },
      })
      expect((error.cause as Error).stack).toMatch(
        /^AggregateError: at redis:\/\/\*\*\*@cache:6379\n    at .*errors\.test/,
      )
    }
  })

  it('have a cause also where that cannot be read, or has no end', () => {
    const hostile = {
      get message(): never {
        throw new Error('a getter')
      },
    }
    expect(new StoreError('STORE_UNREACHABLE', 'x', { cause: hostile }).cause).toMatchObject({
      message: 'an error that cannot be read',
    })
    const circle: Error & { cause?: unknown } = new Error('round and round')
    circle.cause = circle
    expect(new StoreError('STORE_UNREACHABLE', 'x', { cause: circle }).cause).toMatchObject({
      message: 'round and round',
    })
    expect(new StoreError('STORE_UNREACHABLE', 'x', { cause: 'at amqp://us:hunter2@rabbit' }).cause).toBe(
      'at amqp://***@rabbit',
    )
  })

  it('show one problem as it is, and several as a list', () => {
    expect(new ConfigError(['only']).message).toBe('only')
    expect(new ConfigError(['first', 'second']).message).toBe('2 problems:\n- first\n- second')
  })

  it('are known across two copies of the package', () => {
    let copy: typeof errors | undefined
    jest.isolateModules(() => {
      copy = jest.requireActual<typeof errors>('../../../../src/foundation/errors.ts')
    })
    const foreign = new (copy ?? errors).NoEffectError('x')
    expect(foreign).not.toBeInstanceOf(NoEffectError)
    expect(isConsumeOnceError(foreign)).toBe(true)
    expect(hasCode(foreign, 'NO_EFFECT')).toBe(true)
    expect(hasCode(foreign, 'TERMINAL')).toBe(false)
  })

  it('are not mistaken for others', () => {
    for (const other of [new Error('x'), { code: 'NO_EFFECT' }, null, undefined, 'NO_EFFECT', 7]) {
      expect(isConsumeOnceError(other)).toBe(false)
      expect(hasCode(other, 'NO_EFFECT')).toBe(false)
    }
  })
})

describe('what was thrown', () => {
  const nameless = Object.assign(new Error('x'), { name: 7, message: 8 })
  it.each<readonly [string, unknown, string, string]>([
    ['an error', new TypeError('no such field'), 'no such field', 'TypeError'],
    ['an error without a message', new RangeError(), 'RangeError', 'RangeError'],
    ['text', 'broken', 'broken', 'string'],
    ['nothing', undefined, 'undefined', 'undefined'],
    ['an object without a prototype', Object.create(null), 'a thrown object that has no text', 'object'],
    ['a symbol', Symbol('x'), 'Symbol(x)', 'symbol'],
    ['an error with a message that is no text', nameless, '8', 'object'],
  ])('has a text and a class: %s', (_, thrown, text, name) => {
    expect(describeError(thrown)).toBe(text)
    expect(errorClass(thrown)).toBe(name)
  })

  it('is cut at 1 KB: it may hold a payload', () => {
    expect(describeError(new Error('x'.repeat(5_000))).length).toBe(1_024)
  })
})
