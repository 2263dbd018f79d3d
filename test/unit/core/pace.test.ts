import { describe, expect, it } from '@jest/globals'
import { FIRST_PACE, isOpenLongEnough, paced, shareOf, type Lap, type Pace } from '../../../src/core/pace.ts'

const LIMIT = 100

function after(...laps: readonly Partial<Lap>[]): Pace {
  return laps.reduce<Pace>((pace, lap) => {
    return paced(pace, { count: pace.most, ms: 0, hasFailed: false, ...lap }, LIMIT)
  }, FIRST_PACE)
}

describe('the pace of transactions', () => {
  it('begins with one message, and doubles with each transaction whose handlers are quick, up to the limit', () => {
    const sizes = [0, 1, 2, 3, 6, 7, 20].map((laps) => after(...Array.from({ length: laps }, () => ({}))).most)
    expect(sizes).toEqual([1, 2, 4, 8, 64, 100, 100])
  })

  it('does not grow by transactions that are not full', () => {
    expect(after({}, {}, {}, { count: 1 }, { count: 2 }).most).toBe(8)
  })

  it('takes no more than handlers of this length get done while a transaction may be open', () => {
    const grown = Array.from({ length: 10 }, () => ({}))
    expect(after(...grown, ...Array.from({ length: 10 }, () => ({ count: 10, ms: 200 }))).most).toBe(5)
    expect(after(...grown, { count: 1, ms: 2_000 }).most).toBe(1)
  })

  it('recovers from one slow handler within a few transactions', () => {
    const slow = [...Array.from({ length: 10 }, () => ({})), { count: 1, ms: 2_000 }]
    expect(after(...slow, ...Array.from({ length: 20 }, () => ({}))).most).toBe(100)
  })

  it('halves with each failure, down to one message', () => {
    const grown = Array.from({ length: 10 }, () => ({}))
    const failed = { count: 1, hasFailed: true }
    expect(after(...grown, failed).most).toBe(50)
    expect(after(...grown, ...Array.from({ length: 10 }, () => failed)).most).toBe(1)
  })

  it('never leaves its bounds, whatever is measured', () => {
    let pace = FIRST_PACE
    for (let lap = 0; lap < 10_000; lap++) {
      const count = 1 + (lap % 130)
      pace = paced(pace, { count, ms: (lap * 7919) % 100_003, hasFailed: lap % 5 === 0 }, LIMIT)
      expect(pace.most).toBeGreaterThanOrEqual(1)
      expect(pace.most).toBeLessThanOrEqual(LIMIT)
      expect(Number.isSafeInteger(pace.most)).toBe(true)
    }
  })

  it('ends a transaction once its claim and its commit cost a twentieth of its handlers', () => {
    const opensFor = (callsMs: number): number => after(...Array.from({ length: 20 }, () => ({ callsMs }))).openMs
    expect([0, 1, 5, 20, 5_000].map((callsMs) => Math.round(opensFor(callsMs)))).toEqual([100, 100, 100, 400, 1_000])
    const pace = after(...Array.from({ length: 20 }, () => ({ callsMs: 5 })))
    expect([0, 99, 101, 2_000].map((ms) => isOpenLongEnough(pace, ms))).toEqual([false, false, true, true])
  })
})

describe('what waits', () => {
  it('spreads over idle transactions before it shares one', () => {
    expect([shareOf(20, 4), shareOf(3, 4), shareOf(5, 4), shareOf(400, 1), shareOf(0, 4)]).toEqual([5, 1, 2, 400, 1])
  })
})
