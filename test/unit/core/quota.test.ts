import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { freeAt, FULL, MADE_UP_MS, returned, taken, wanted, windowOf, type Quota } from '../../../src/core/quota.ts'

/** Takes at each of these times all that is free. Returns when each permit was taken. */
function takenAt(quota: Quota, times: readonly number[]): number[] {
  let bucket = FULL
  const at: number[] = []
  for (const now of times) {
    for (; freeAt(bucket, quota) <= now; bucket = taken(bucket, now, quota)) at.push(now)
  }
  return at
}

describe('a quota', () => {
  it('gives its burst at once, and then one permit at a time', () => {
    const quota = { perSecond: 10, burst: 3 }
    let bucket = wanted(FULL, 1_000)
    for (let n = 0; n < 3; n++) {
      expect(freeAt(bucket, quota)).toBeLessThanOrEqual(1_000)
      bucket = taken(bucket, 1_000, quota)
    }
    expect(freeAt(bucket, quota)).toBe(1_100)
    expect(freeAt(returned(bucket, quota), quota)).toBe(1_000)
  })

  it('gives no more than its burst after a time in which nobody wanted one', () => {
    const quota = { perSecond: 1_000, burst: 1 }
    const before = taken(wanted(FULL, 0), 0, quota)
    const bucket = taken(wanted(before, 60_000), 60_000, quota)
    expect(freeAt(bucket, quota)).toBe(60_001)
  })

  it('loses nothing by late timers, up to what is made up for', () => {
    const late = Array.from({ length: 1_000 }, (_, n) => n * 10 + ((n * 7) % MADE_UP_MS))
    const got = takenAt(
      { perSecond: 100, burst: 1 },
      late.toSorted((a, b) => a - b),
    )
    const seconds = (Math.max(...late) - Math.min(...late)) / 1_000
    expect(got.length / seconds).toBeGreaterThan(99)
    expect(got.length / seconds).toBeLessThan(102)
  })

  it('never gives more than its burst and its rate, in any time', () => {
    const quotas = fc.record({
      perSecond: fc.double({ min: 0.01, max: 5_000, noNaN: true }),
      burst: fc.nat({ max: 50 }),
    })
    const steps = fc.array(fc.double({ min: 0, max: 2_000, noNaN: true }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(quotas, steps, ({ perSecond, burst: more }, waits) => {
        const quota = { perSecond, burst: more + 1 }
        let now = 0
        const times = takenAt(
          quota,
          waits.map((wait) => (now += wait)),
        )
        for (const [from, first] of times.entries()) {
          const ms = (times.at(-1) ?? first) - first
          const most = quota.burst + (perSecond * (ms + MADE_UP_MS)) / 1_000
          expect(times.length - from).toBeLessThanOrEqual(Math.floor(most + 1e-6) + 1)
        }
      }),
    )
  })
})

describe('the window of a quota', () => {
  it.each([
    [1, { permits: 1, seconds: 1 }],
    [100, { permits: 100, seconds: 1 }],
    [0.5, { permits: 1, seconds: 2 }],
    [2.5, { permits: 5, seconds: 2 }],
    [0.3, { permits: 3, seconds: 10 }],
    [0.01, { permits: 1, seconds: 100 }],
    [1 / 3, { permits: 1, seconds: 3 }],
  ])('of %p a second has a whole number of permits and seconds', (perSecond, window) => {
    expect(windowOf(perSecond)).toEqual(window)
  })

  it('never allows more than the rate, and hardly less', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 100_000, noNaN: true }), (perSecond) => {
        const { permits, seconds } = windowOf(perSecond)
        expect(permits / seconds).toBeLessThanOrEqual(perSecond * (1 + 1e-9))
        expect(permits / seconds).toBeGreaterThan(perSecond * 0.83)
      }),
    )
  })
})
