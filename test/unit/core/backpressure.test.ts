import { describe, expect, it } from '@jest/globals'
import { isFull, type Load } from '../../../src/core/backpressure.ts'

const LIMITS: Load = { inFlight: 10, bytes: 100, watermarkLag: 1_000 }
const AT_MOST_HALF: Load = { inFlight: 5, bytes: 50, watermarkLag: 500 }

describe('a partition', () => {
  it.each(['inFlight', 'bytes'] as const)('is full at its limit of %s, and until half of it is left [T148]', (name) => {
    const load = (value: number): Load => ({ ...AT_MOST_HALF, [name]: value })
    const limit = LIMITS[name]
    expect(isFull(load(limit - 1), LIMITS, false)).toBe(false)
    expect(isFull(load(limit), LIMITS, false)).toBe(true)
    expect(isFull(load(limit / 2 + 1), LIMITS, true)).toBe(true)
    expect(isFull(load(limit / 2), LIMITS, true)).toBe(false)
  })

  it('is full at its limit of watermarkLag, and as soon as it is below that no longer', () => {
    for (const wasFull of [true, false]) {
      expect(isFull({ ...AT_MOST_HALF, watermarkLag: 1_000 }, LIMITS, wasFull)).toBe(true)
      expect(isFull({ ...AT_MOST_HALF, watermarkLag: 999 }, LIMITS, wasFull)).toBe(false)
    }
  })

  it('with limits of one has room only when it is empty', () => {
    const one: Load = { inFlight: 1, bytes: 1, watermarkLag: 1 }
    expect(isFull(one, one, false)).toBe(true)
    expect(isFull(one, one, true)).toBe(true)
    expect(isFull({ inFlight: 0, bytes: 0, watermarkLag: 0 }, one, true)).toBe(false)
  })
})
