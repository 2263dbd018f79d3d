import { describe, expect, it } from '@jest/globals'
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
  it('is complete and frozen, with the defaults of its table', () => {
    const resolved = resolveOptions(GOOD)
    expect(Object.isFrozen(resolved)).toBe(true)
    expect(resolved).toMatchObject({
      name: 'sms-sender',
      batchSize: 100,
      maxInFlight: 500,
      leaseMs: 30_000,
      renewEveryMs: 10_000,
      holdAfter: 50,
      backoff: { initialMs: 200, maxMs: 30_000 },
      onConflict: 'dead-letter',
      onInDoubt: 'rerun',
      given: ['name', 'store', 'handle'],
    })
  })

  it('holds after no number of failures where it is told not to, and where no message ends without its effect', () => {
    expect(resolveOptions({ ...GOOD, hold: false }).holdAfter).toBe(Infinity)
    expect(resolveOptions({ ...GOOD, mode: 'observe' }).holdAfter).toBe(Infinity)
  })

  it('takes bigger batches for a handler of batches', () => {
    const { name, store } = GOOD
    expect(resolveOptions<unknown, unknown, never>({ name, store, handleBatch: () => {} }).batchSize).toBe(500)
  })

  it('makes a function for what is in doubt the policy to reconcile', () => {
    expect(resolveOptions({ ...GOOD, onInDoubt: reconcile })).toMatchObject({ onInDoubt: 'reconcile', reconcile })
  })

  it('fills up a backoff of which only one end is given', () => {
    expect(resolveOptions({ ...GOOD, backoff: { maxMs: 1_000 } }).backoff).toEqual({ initialMs: 200, maxMs: 1_000 })
  })

  it.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
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
    ['a misspelt option', { maxAttemps: 3 }, 'maxAttemps: unknown option; did you mean maxAttempts?'],
    ['an option that does not exist', { colour: 3 }, 'colour: unknown option; expected one of name, store, '],
    [
      'a misspelt option of backoff',
      { backoff: { initialMS: 5 } },
      'backoff.initialMS: unknown option; did you mean initialMs?',
    ],
    [
      'a lease that no renewal can keep, with the reason',
      { leaseMs: 5 },
      'leaseMs: expected a whole number from 100 to 2147483647 (24.8 days, the longest timer), got 5: it is renewed at a third',
    ],
    [
      'a backoff that ends before it begins',
      { backoff: { initialMs: 2_000, maxMs: 1_000 } },
      'backoff: expected initialMs <= maxMs',
    ],
    ['less in flight than slots', { maxInFlight: 63 }, 'maxInFlight: expected at least concurrency (64)'],
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
      expect.stringMatching(/flavour: unknown option$/),
    ])
  })

  it.each([undefined, null, 'sms-sender'])('refuses %j in place of the options', (none) => {
    const problem = expect.stringMatching(/^consumer: expected options such as \{ name, store, handle \}, got /)
    expect(() => resolveOptions(none as unknown as Options)).toThrow(expect.objectContaining({ problems: [problem] }))
  })

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
    const problems = problemsOf({ leaseMs: 0, maxAttempts: -1, onConflict: 'ignore', handle: 'send', scope: '' })
    expect(problems.length).toBeGreaterThanOrEqual(5)
    expect(problems.every((problem) => problem.startsWith('consumer "sms-sender": '))).toBe(true)
    expect(() => resolveOptions({ ...GOOD, leaseMs: 0, maxAttempts: 0 })).toThrow(
      /problems:\n- consumer .*\n- consumer /,
    )
  })
})
