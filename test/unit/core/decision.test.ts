import { describe, expect, it } from '@jest/globals'
import { afterClaim } from '../../../src/core/after-claim.ts'
import { afterRun, type Ground, type HandlerResult, type Ran } from '../../../src/core/after-run.ts'

const POLICY = { maxAttempts: 3, onInDoubt: 'rerun', onBeyondRetention: 'run' } as const

describe('afterClaim', () => {
  const FRESH = { verdict: 'claimed', fence: 1, attempt: 1 } as const

  it.each([
    ['run', { next: 'handle' }],
    ['park', { next: 'set-aside', as: 'parked', reason: 'beyond-retention' }],
    ['skip', { next: 'skip' }],
  ] as const)('beyond retention: %s', (onBeyondRetention, step) => {
    const policy = { ...POLICY, onBeyondRetention }
    expect(afterClaim(FRESH, policy, true)).toEqual(step)
    expect(afterClaim(FRESH, policy, false)).toEqual({ next: 'handle' })
  })
})

describe('afterRun', () => {
  const RAN: Ran = { result: 'failed', attempt: 1, doubt: false, messages: 1, isInterrupted: false, losses: 0 }
  const LAST = { attempt: 3 }
  const DOUBT = { doubt: true }
  const MANY = { messages: 5 }
  const ABORTED = { isInterrupted: true }
  const CONFLICT = { losses: 2 }
  const spent = { next: 'set-aside', as: 'given-up', reason: 'attempts-spent' }
  const failed = { next: 'set-aside', as: 'given-up', reason: 'handler-failed' }
  const parked = { ...failed, as: 'parked' }

  it.each<[HandlerResult, Partial<Ran>, Record<Ground, { readonly next: string }>]>([
    // It is marked, or without a claim settled, whatever else is so.
    ['handled', {}, all(next('mark'))],
    ['handled', { ...LAST, ...DOUBT, ...MANY, ...ABORTED }, all(next('mark'))],
    // The failure is the answer, also of the last attempt; not where an earlier attempt may have had the effect.
    ['remembered', {}, all(next('mark'))],
    ['remembered', LAST, all(next('mark'))],
    ['remembered', DOUBT, all(parked)],
    ['remembered', MANY, { lease: next('mark'), transaction: next('split'), nothing: next('mark') }],
    // Nothing happened.
    ['failed', {}, all(next('retry'))],
    ['failed', LAST, { lease: spent, transaction: spent, nothing: next('retry') }],
    ['failed', { ...LAST, ...DOUBT }, { ...all({ ...spent, as: 'parked' }), nothing: next('retry') }],
    ['failed', { ...LAST, ...CONFLICT }, all(next('retry'))],
    ['failed', { ...LAST, ...ABORTED }, all(next('again'))],
    ['failed', { ...LAST, ...ABORTED, ...MANY }, all(next('split'))],
    ['fatal', {}, { lease: failed, transaction: failed, nothing: next('retry') }],
    ['fatal', ABORTED, { lease: failed, transaction: failed, nothing: next('retry') }],
    ['fatal', DOUBT, { lease: parked, transaction: parked, nothing: next('retry') }],
    ['fatal', MANY, all(next('split'))],
    // Only under a lease something may be left of it.
    ['unknown', {}, { ...all(next('retry')), lease: next('rerun-in-doubt') }],
    ['unknown', LAST, { lease: next('rerun-in-doubt'), transaction: spent, nothing: next('retry') }],
    ['unknown', ABORTED, { ...all(next('again')), lease: next('rerun-in-doubt') }],
    ['unknown', MANY, { ...all(next('split')), lease: next('rerun-in-doubt') }],
  ])('%s, %j', (result, how, steps) => {
    const follows = (ground: Ground): unknown => afterRun({ ...RAN, result, ...how }, ground, POLICY)
    expect({
      lease: follows('lease'),
      transaction: follows('transaction'),
      nothing: follows('nothing'),
    }).toEqual(steps)
  })

  it('parks at once what is unknown, where that is the policy', () => {
    const policy = { ...POLICY, onInDoubt: 'park' } as const
    const inDoubt = { next: 'set-aside', as: 'parked', reason: 'in-doubt' }
    expect(afterRun({ ...RAN, result: 'unknown' }, 'lease', policy)).toEqual(inDoubt)
  })
})

function next(step: string): { readonly next: string } {
  return { next: step }
}

function all<T>(step: T): Record<Ground, T> {
  return { lease: step, transaction: step, nothing: step }
}
