import { describe, expect, it } from '@jest/globals'
import { companyOf } from '../../../src/core/company.ts'

describe('what may run together with earlier attempts', () => {
  it('gets fewer by the same factor with each attempt', () => {
    const together = [0, 1, 2, 3, 4, 5].map((attempts) => companyOf(attempts, { all: 2_000, maxAttempts: 5 }))
    expect(together).toEqual([2_000, 299, 44, 6, 1, 1])
  })

  it.each([1, 2, 3, 5, 10, 100])(
    'is one in the last of %i attempts, and at least one in every other',
    (maxAttempts) => {
      for (const all of [1, 4, 64, 400, 2_000]) {
        let before = all
        for (let attempts = 1; attempts <= maxAttempts; attempts++) {
          const together = companyOf(attempts, { all, maxAttempts })
          expect(together).toBeGreaterThanOrEqual(1)
          expect(together).toBeLessThanOrEqual(before)
          before = together
        }
        expect(companyOf(maxAttempts - 1, { all, maxAttempts })).toBe(maxAttempts === 1 ? all : 1)
      }
    },
  )
})
