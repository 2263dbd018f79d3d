import { describe, expect, it } from '@jest/globals'
import type { ClaimVerdict } from '../../../src/core/record.ts'
import { together } from '../../../src/core/together.ts'

const claimed = (attempt: number): ClaimVerdict => ({ verdict: 'claimed', fence: attempt, attempt })
const takenOver = (attempt: number): ClaimVerdict => ({ verdict: 'taken-over', fence: attempt, attempt })
const DONE: ClaimVerdict = { verdict: 'done', result: '1' }
const IN_DOUBT: ClaimVerdict = { verdict: 'in-doubt' }
const BUSY: ClaimVerdict = { verdict: 'busy', leaseLeftMs: 5 }
const GIVEN_UP: ClaimVerdict = { verdict: 'given-up', reason: 'why' }
const CONFLICT: ClaimVerdict = { verdict: 'conflict' }
const PARKED: ClaimVerdict = { verdict: 'parked', reason: 'why' }
const UNREADABLE: ClaimVerdict = { verdict: 'unreadable', found: 'what' }

/** From the mildest to the severest. */
const ORDER = [claimed(1), DONE, IN_DOUBT, BUSY, GIVEN_UP, CONFLICT, PARKED, UNREADABLE]

describe('the answers for all keys of a message', () => {
  it('are decided by the severest, in whatever order they come', () => {
    for (const [at, severe] of ORDER.entries()) {
      for (const mild of ORDER.slice(0, at)) {
        expect(together([mild, severe]).decides).toBe(severe)
        expect(together([severe, mild]).decides).toBe(severe)
      }
    }
  })

  it('let it run only if all are granted, with the most attempts, and in doubt if one is', () => {
    expect(together([claimed(1), claimed(3), claimed(2)])).toEqual({
      decides: claimed(3),
      granted: [claimed(1), claimed(3), claimed(2)],
    })
    expect(together([takenOver(2), claimed(3)]).decides).toEqual(takenOver(3))
    expect(together([claimed(1), takenOver(2)]).decides).toEqual(takenOver(2))
  })

  it('never run it where one of them is done, whatever else is granted', () => {
    expect(together([takenOver(2), DONE, claimed(1)])).toEqual({ decides: DONE, granted: [takenOver(2), claimed(1)] })
  })

  it('wait for the longest of several owners, and count the most attempts', () => {
    const longer: ClaimVerdict = { verdict: 'busy', leaseLeftMs: 7 }
    expect(together([BUSY, longer, BUSY]).decides).toBe(longer)
    const again = { verdict: 'again-alone', attempts: 3 } as const
    const once = { verdict: 'again-alone', attempts: 1 } as const
    expect(together<ClaimVerdict | typeof once | typeof again>([IN_DOUBT, once, again]).decides).toBe(again)
  })
})
