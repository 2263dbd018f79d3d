import { describe, expect, it } from '@jest/globals'
import { afterHandler } from '../../src/core/decision.ts'

const POLICY = { maxAttempts: 3, onInDoubt: 'rerun' } as const

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
