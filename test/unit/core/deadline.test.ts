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
      for (let now = 0; now < 1_500; now += 100) {
        const due = dueOf({ startedAt: 0, leaseEndsAt }, now, LIMITS)
        const next = nextDueAt({ startedAt: 0, leaseEndsAt, isAborted: due !== 'nothing' }, now, LIMITS)
        expect(next).toBeGreaterThan(now)
        if (due === 'nothing') expect(dueOf({ startedAt: 0, leaseEndsAt }, next, LIMITS)).not.toBe('nothing')
        for (let before = now; before < next && due === 'nothing'; before += 50) {
          expect(dueOf({ startedAt: 0, leaseEndsAt }, before, LIMITS)).toBe('nothing')
        }
      }
    },
  )

  it('asks for nothing of a run without a limit', () => {
    const none = { handlerTimeoutMs: WITHOUT_LEASE, graceMs: WITHOUT_LEASE }
    expect(dueOf({ startedAt: 0, leaseEndsAt: WITHOUT_LEASE }, 1e12, none)).toBe('nothing')
    expect(nextDueAt({ startedAt: 0, leaseEndsAt: 50, isAborted: false }, 0, none)).toBe(50)
  })
})
