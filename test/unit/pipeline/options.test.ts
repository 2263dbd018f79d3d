import { describe, expect, it } from '@jest/globals'
import { DEFAULTS } from '../../../src/consumer/defaults.ts'
import { ConfigError } from '../../../src/foundation/errors.ts'
import { memoryStore } from '../../../src/memory/store.ts'
import type { ConsumerOptions } from '../../../src/consumer/options.ts'
import { resolveOptions } from '../../../src/consumer/resolve-options.ts'
import type { Store } from '../../../src/ports/store.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'

type Options = ConsumerOptions<unknown, unknown, never>

const GOOD: Options = { name: 'sms-sender', store: memoryStore(), handle: () => {} }

const reconcile = (): 'unknown' => 'unknown'

function problemsOf(options: Readonly<Record<string, unknown>>): readonly string[] {
  try {
    resolveOptions({ ...GOOD, ...options })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('resolveOptions', () => {
  it('is complete and frozen, with the defaults of one place', () => {
    const resolved = resolveOptions(GOOD)
    expect(Object.isFrozen(resolved)).toBe(true)
    expect(resolved).toMatchObject({
      name: 'sms-sender',
      concurrency: DEFAULTS.concurrency,
      transactions: DEFAULTS.transactions,
      batchSize: DEFAULTS.batchSize,
      maxInFlight: DEFAULTS.leastInFlight,
      leaseMs: DEFAULTS.leaseMs,
      renewEveryMs: DEFAULTS.leaseMs / 3,
      retentionMs: DEFAULTS.retentionMs,
      handlerTimeoutMs: DEFAULTS.handlerTimeoutMs,
      graceMs: DEFAULTS.graceMs,
      maxAttempts: DEFAULTS.maxAttempts,
      holdAfter: 50,
      backoff: DEFAULTS.backoff,
      onConflict: 'dead-letter',
      onInDoubt: 'rerun',
    })
  })

  it('holds after no number of failures where it is told not to, and where no message ends without its effect', () => {
    expect(resolveOptions({ ...GOOD, hold: false }).holdAfter).toBe(Infinity)
    expect(resolveOptions({ ...GOOD, mode: 'observe' }).holdAfter).toBe(Infinity)
  })

  it('takes bigger batches for a handler of batches', () => {
    const { name, store } = GOOD
    expect(resolveOptions<unknown, unknown, never>({ name, store, handleBatch: () => {} }).batchSize).toBe(
      DEFAULTS.handleBatchSize,
    )
  })

  it('makes a function for what is in doubt the policy to reconcile', () => {
    expect(resolveOptions({ ...GOOD, onInDoubt: reconcile })).toMatchObject({ onInDoubt: 'reconcile', reconcile })
  })

  it('fills up a backoff of which only one end is given', () => {
    expect(resolveOptions({ ...GOOD, backoff: { maxMs: 1_000 } }).backoff).toEqual({ initialMs: 200, maxMs: 1_000 })
  })

  const numbers = [
    'concurrency',
    'transactions',
    'batchSize',
    'maxInFlight',
    'leaseMs',
    'renewEveryMs',
    'retentionMs',
    'handlerTimeoutMs',
    'graceMs',
    'maxAttempts',
    'maxResultBytes',
  ]
  it.each(numbers)('refuses a %s that is no whole number from 1: 0 is not unset [T56]', (name) => {
    for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', 2 ** 53]) {
      expect(problemsOf({ [name]: value })).toContainEqual(
        expect.stringContaining(
          `${name}: expected a whole number from 1, got ${typeof value === 'string' ? `"${value}"` : value}`,
        ),
      )
    }
  })

  it.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
    ['no name', { name: '' }, 'name: expected 1 to 200 characters'],
    ['a name that is too long', { name: 'x'.repeat(201) }, 'name: expected 1 to 200 characters'],
    ['a name that is no text', { name: 7 }, 'name: expected 1 to 200 characters'],
    [
      'a name with a NUL',
      { name: 'sms\u0000' },
      String.raw`name: expected text without control characters, direction marks and lone surrogates, got "sms\u0000"`,
    ],
    [
      'a name that is written from right to left',
      { name: 'sms\u202Erednes' },
      String.raw`name: expected text without control characters, direction marks and lone surrogates, got "sms\u202erednes"`,
    ],
    ['a name with an escape sequence of 8 bits', { name: 'sms\u009B2J' }, String.raw`got "sms\u009b2J"`],
    ['a blank name', { name: ' \u00A0' }, 'name: expected text, got'],
    ['a blank scope', { scope: ' ' }, 'scope: expected text, got " "'],
    ['a scope with an isolate', { scope: 'a\u2066b' }, 'scope: expected text without control characters'],
    ['a scope with a line break', { scope: 'a\nb' }, 'scope: expected text without control characters'],
    [
      'a scope with half a character',
      { scope: '\ud800' },
      'scope: expected text without control characters, direction marks and lone surrogates',
    ],
    ['an empty scope', { scope: '' }, 'scope: expected text'],
    ['a scope that is no text', { scope: 7 }, 'scope: expected text'],
    ['no store', { store: undefined }, 'store: expected a store such as'],
    ['a client in place of a store', { store: { query: () => {} } }, 'store: expected a store such as'],
    ['no handler', { handle: undefined }, 'handle, handleBatch: expected exactly one'],
    ['two handlers', { handleBatch: () => {} }, 'handle, handleBatch: expected exactly one'],
    [
      'a renewal that comes with the end of the lease',
      { renewEveryMs: 29_000 },
      'renewEveryMs: expected less than leaseMs (30000) less the margin before its end (1000)',
    ],
    ['a retention within the lease', { retentionMs: 30_000 }, 'retentionMs: expected more than leaseMs'],
    [
      'a retention within one attempt and the delay after it',
      { retentionMs: 96_600 },
      '(30000 + 60000 + 5000 + 1600 = 96600), got 96600',
    ],
    ['an ID extractor that is none', { id: 'message-id' }, 'id: expected a function, got string'],
    ['a decoder that is none', { decode: {} }, 'decode: expected a function, got object'],
    ['a schema that is none', { schema: {} }, 'schema: expected a Standard Schema'],
    ['no schema at all', { schema: null }, 'schema: expected a Standard Schema'],
    [
      'a misspelt option',
      { maxAttemps: 3 },
      'maxAttemps: unknown option of defineConsumer(); did you mean maxAttempts?',
    ],
    [
      'an option that does not exist',
      { colour: 3 },
      'colour: unknown option of defineConsumer(); expected one of name, store, ',
    ],
    [
      'an option of backoff that does not exist',
      { backoff: { initialMS: 5 } },
      'backoff.initialMS: unknown option of defineConsumer(); did you mean initialMs?',
    ],
    ['a backoff that is a number', { backoff: 5 }, 'backoff: expected an object, got 5'],
    ['a backoff of null', { backoff: null }, 'backoff: expected an object, got null'],
    ['a lease as text', { leaseMs: '30s' }, 'leaseMs: expected a whole number from 1, got "30s"'],
    [
      'a lease that no renewal can keep',
      { leaseMs: 5 },
      'leaseMs: expected at least 100, got 5: it is renewed at a third',
    ],
    ['a retention beyond all times', { retentionMs: 2 ** 50 }, 'retentionMs: expected at most 3153600000000'],
    ['a lease of nothing', { leaseMs: 0 }, 'leaseMs: expected a whole number from 1, got 0'],
    ['a logger that is none', { log: {} }, 'log: expected a logger'],
    ['a handler that is none', { handle: 'send' }, 'handle: expected a function, got string'],
    [
      'a backoff that ends before it begins',
      { backoff: { initialMs: 2_000, maxMs: 1_000 } },
      'backoff: expected initialMs <= maxMs',
    ],
    ['a backoff at once', { backoff: { initialMs: 0 } }, 'backoff.initialMs: expected a whole number from 1'],
    [
      'a backoff without end',
      { backoff: { maxMs: Number.POSITIVE_INFINITY } },
      'backoff.maxMs: expected a whole number',
    ],
    ['transactions that are no number', { transactions: 4n }, 'transactions: expected'],
    ['less in flight than slots', { maxInFlight: 63 }, 'maxInFlight: expected at least concurrency (64)'],
    ['another word for what is in doubt', { onInDoubt: 'ignore' }, "onInDoubt: expected 'rerun', 'park' or a function"],
    [
      'another word for a conflict',
      { onConflict: 'ignore' },
      "onConflict: expected 'dead-letter', 'duplicate' or { compare: ['/amount'] }",
    ],
    [
      'another word for beyond retention',
      { onBeyondRetention: 'drop' },
      'onBeyondRetention: expected "run", "park", "skip"',
    ],
    ['something else than on or off for the hold', { hold: 50 }, 'hold: expected true, false, got 50'],
    ['another word for a purge', { purge: 'daily' }, 'purge: expected "background", "never", got "daily"'],
    ['a result that may be', { rememberResult: 'yes' }, 'rememberResult: expected true, false, got "yes"'],
    ['a larger result than any', { maxResultBytes: 1_048_577 }, 'maxResultBytes: expected at most 1048576'],
    ['a failure by name', { rememberFailure: 'Declined' }, 'rememberFailure: expected a function, got string'],
    [
      'the result of a batch',
      { handle: undefined, handleBatch: () => {}, rememberResult: true },
      'rememberResult: leave it out with handleBatch',
    ],
    [
      'the failure of a batch',
      { handle: undefined, handleBatch: () => {}, rememberFailure: () => true },
      'rememberFailure: leave it out with handleBatch',
    ],
    [
      'another word for running without its store',
      { onStoreDown: 'run' },
      'onStoreDown: expected "pause", "run-unprotected"',
    ],
    [
      'another word for a busy message',
      { whenBusy: 'refuse' },
      `whenBusy: expected 'wait', 'hand-back' or { waitMs }, got "refuse"`,
    ],
    ['a busy message and null', { whenBusy: null }, "whenBusy: expected 'wait', 'hand-back' or { waitMs }, got null"],
    ['a wait of no length', { whenBusy: {} }, 'whenBusy.waitMs: expected a whole number from 1, got undefined'],
    ['a wait of nothing', { whenBusy: { waitMs: 0 } }, 'whenBusy.waitMs: expected a whole number from 1, got 0'],
    [
      'a misspelt wait',
      { whenBusy: { waitMs: 5, waitS: 1 } },
      'whenBusy.waitS: unknown option of defineConsumer(); did you mean waitMs?',
    ],
    ['another mode', { mode: 'watch' }, 'mode: expected "enforce", "observe"'],
  ])('refuses %s', (_, options, problem) => {
    expect(problemsOf(options)).toEqual([expect.stringContaining(problem)])
  })

  it.each<readonly [string, Readonly<Record<string, unknown>>]>([
    ['the longest name', { name: 'x'.repeat(200) }],
    ['a name in any script', { name: 'отправка смс 🎉/№%' }],
    ['a renewal just before the end of the lease', { renewEveryMs: 28_999 }],
    ['as many in flight as slots', { maxInFlight: 64 }],
    ['one attempt', { maxAttempts: 1 }],
    ['a busy message that waits', { whenBusy: 'wait' }],
    ['a busy message that is handed back', { whenBusy: 'hand-back' }],
    ['a busy message that waits for a while', { whenBusy: { waitMs: 500 } }],
    ['a retention just beyond one attempt and the delay after it', { retentionMs: 96_601 }],
    ['attempts for ever', { maxAttempts: Number.MAX_SAFE_INTEGER }],
  ])('takes %s', (_, options) => {
    expect(problemsOf(options)).toEqual([])
  })

  it('lists the known options once', () => {
    const problems = problemsOf({ colour: 3, flavour: 3 })
    expect(problems).toEqual([
      expect.stringContaining('expected one of'),
      expect.stringMatching(/flavour: unknown option of defineConsumer\(\)$/),
    ])
  })

  it.each([undefined, null, 'sms-sender'])('refuses %j in place of the options', (none) => {
    const problem = expect.stringMatching(/^consumer: expected options such as \{ name, store, handle \}, got /)
    expect(() => resolveOptions(none as unknown as Options)).toThrow(expect.objectContaining({ problems: [problem] }))
  })

  it.each(['leaseMs', 'renewEveryMs', 'handlerTimeoutMs', 'graceMs', 'backoff.initialMs', 'backoff.maxMs'])(
    'refuses a %s that is longer than a timer of Node, which would end at once',
    (name) => {
      const [first = '', inner] = name.split('.')
      const given = (value: number): Readonly<Record<string, unknown>> => ({
        [first]: inner === undefined ? value : { [inner]: value },
      })
      expect(problemsOf(given(2 ** 31))).toContainEqual(
        expect.stringContaining(`${name}: expected at most 2147483647 (24.8 days, the longest timer), got 2147483648`),
      )
      expect(problemsOf(given(2 ** 31 - 1)).join()).not.toContain('the longest timer')
    },
  )

  it('refuses a policy for doubt with an inbox, which knows none', () => {
    const store: Store<unknown> = new MemoryInbox()
    expect(problemsOf({ store })).toEqual([])
    expect(problemsOf({ store, onInDoubt: 'rerun' })).toEqual([expect.stringContaining('an inbox knows no doubt')])
  })

  it('refuses to remember anything of a message where a store keeps one position', () => {
    const store = { strategy: 'offsets', claim: () => {}, positions: { next: () => {} } }
    expect(problemsOf({ store })).toEqual([])
    expect(problemsOf({ store, rememberResult: true, rememberFailure: () => true })).toEqual([
      expect.stringContaining('rememberResult: leave it out with a store of strategy offsets'),
      expect.stringContaining('rememberFailure: leave it out with a store of strategy offsets'),
    ])
  })

  it('reports all problems at once, each with the name of the consumer [T86]', () => {
    const problems = problemsOf({ leaseMs: 0, maxAttempts: -1, onConflict: 'ignore', handle: undefined, scope: '' })
    expect(problems.length).toBeGreaterThanOrEqual(5)
    expect(problems.every((problem) => problem.startsWith('consumer "sms-sender": '))).toBe(true)
    expect(() => resolveOptions({ ...GOOD, leaseMs: 0, maxAttempts: 0 })).toThrow(
      /problems:\n- consumer .*\n- consumer /,
    )
  })
})
