import { describe, expect, it } from '@jest/globals'
import { afterClaim, afterHandler } from '../../../src/core/decision.ts'

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

describe('afterHandler', () => {
  it('marks a failure that is the answer, also the last attempt', () => {
    expect(afterHandler('remembered', { attempt: 1, doubt: false }, POLICY)).toEqual({ next: 'mark' })
    expect(afterHandler('remembered', { attempt: 3, doubt: false }, POLICY)).toEqual({ next: 'mark' })
  })

  it('parks it where an earlier attempt may have had the effect', () => {
    const parked = { next: 'set-aside', as: 'parked', reason: 'handler-failed' }
    expect(afterHandler('remembered', { attempt: 2, doubt: true }, POLICY)).toEqual(parked)
  })
})
