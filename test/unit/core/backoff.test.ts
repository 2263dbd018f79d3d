import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { backoffMs } from '../../../src/core/backoff.ts'

const BACKOFF = { initialMs: 100, maxMs: 10_000 }
const ALMOST_ONE = 1 - 2 ** -32

describe('backoffMs', () => {
  it('doubles the step with each attempt, up to the longest', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempt) => backoffMs(attempt, BACKOFF, ALMOST_ONE))
    expect(longest).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
  })

  it('never comes at once: half the step is the least', () => {
    expect([1, 2, 3, 8].map((attempt) => backoffMs(attempt, BACKOFF, 0))).toEqual([50, 100, 200, 5_000])
  })

  it('spreads over half a step by chance', () => {
    expect([0, 0.25, 0.5, 0.75].map((fraction) => backoffMs(1, BACKOFF, fraction))).toEqual([50, 63, 75, 88])
  })

  it('stays whole, finite and within its bounds for any attempt', () => {
    const whole = fc.integer({ min: 1, max: 3_600_000 })
    const attempts = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
    const fractions = fc.double({ min: 0, max: ALMOST_ONE, noNaN: true })
    fc.assert(
      fc.property(attempts, whole, whole, fractions, (attempt, initialMs, maxMs, fraction) => {
        const delayMs = backoffMs(attempt, { initialMs, maxMs }, fraction)
        expect(Number.isInteger(delayMs)).toBe(true)
        expect(delayMs).toBeLessThanOrEqual(maxMs)
        expect(delayMs).toBeGreaterThanOrEqual(Math.floor(Math.min(initialMs, maxMs) / 2))
      }),
    )
  })

  it('never shortens with the attempts, chance being equal', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.double({ min: 0, max: ALMOST_ONE, noNaN: true }),
        (attempt, fraction) => {
          expect(backoffMs(attempt + 1, BACKOFF, fraction)).toBeGreaterThanOrEqual(
            backoffMs(attempt, BACKOFF, fraction),
          )
        },
      ),
    )
  })
})
