import { describe, expect, it } from '@jest/globals'
import { dueOf, nextDueAt } from '../../../src/core/deadline.ts'

const LIMITS = { handlerTimeoutMs: 1_000, graceMs: 500 }
const WITHOUT_LEASE = Number.POSITIVE_INFINITY

describe('what the time asks of a run', () => {
  it.each([
    ['nothing', 999, WITHOUT_LEASE],
    ['takes-too-long', 1_000, WITHOUT_LEASE],
    ['takes-too-long', 1_499, WITHOUT_LEASE],
    ['ignores-abort', 1_500, WITHOUT_LEASE],
    ['nothing', 299, 300],
    ['lease-ends', 300, 300],
    ['lease-ends', 1_000, 300],
    ['ignores-abort', 1_500, 300],
  ])('is %s after %i ms, with a lease that ends after %f', (due, ranMs, leaseMs) => {
    const startedAt = 7
    expect(dueOf({ startedAt, leaseEndsAt: startedAt + leaseMs }, startedAt + ranMs, LIMITS)).toBe(due)
  })

  it.each([[WITHOUT_LEASE], [300], [1_000], [1_200], [1_500], [9_000]])(
    'changes next when it says, and not before, with a lease that ends at %f',
    (leaseEndsAt) => {
      const dueAt = (at: number): string => dueOf({ startedAt: 0, leaseEndsAt }, at, LIMITS)
      const quiet = Array.from({ length: 15 }, (_, step) => step * 100).filter((now) => dueAt(now) === 'nothing')
      const next = quiet.map((now) => nextDueAt({ startedAt: 0, leaseEndsAt, isAborted: false }, now, LIMITS))
      expect(next.map((at) => [dueAt(at - 1), dueAt(at) === 'nothing'])).toEqual(quiet.map(() => ['nothing', false]))
      expect(nextDueAt({ startedAt: 0, leaseEndsAt, isAborted: true }, 1_100, LIMITS)).toBe(1_500)
    },
  )

  it('asks for nothing of a run without a limit', () => {
    const none = { handlerTimeoutMs: WITHOUT_LEASE, graceMs: WITHOUT_LEASE }
    expect(dueOf({ startedAt: 0, leaseEndsAt: WITHOUT_LEASE }, 1e12, none)).toBe('nothing')
    expect(nextDueAt({ startedAt: 0, leaseEndsAt: 50, isAborted: false }, 0, none)).toBe(50)
  })
})
