import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { timeAxis } from '../../../dashboard/ui/time-axis.ts'

describe('timeAxis', () => {
  it('draws steps of milliseconds wide although a redelivery comes an hour later', () => {
    const hour = 3_600_000
    const axis = timeAxis(
      [
        { from: 0, to: 40 },
        { from: hour, to: hour + 20 },
      ],
      800,
    )
    expect(axis.stretches).toHaveLength(2)
    expect(axis.gaps.map(({ ms }) => ms)).toEqual([hour - 40])
    expect(axis.place(40) - axis.place(0)).toBeGreaterThan(300)
    expect(axis.place(hour) - axis.place(40)).toBeLessThan(100)
  })

  it('makes no gap between events that follow each other closely', () => {
    const spans = [
      { from: 0, to: 100 },
      { from: 120, to: 200 },
      { from: 150, to: 220 },
    ]
    expect(timeAxis(spans, 800).gaps).toEqual([])
  })

  it('never turns time round, and never leaves its width', () => {
    const span = fc
      .tuple(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 0, max: 1e5 }))
      .map(([from, length]) => ({ from, to: from + length }))
    fc.assert(
      fc.property(
        fc.array(span, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 100, max: 2_000 }),
        (spans, width) => {
          const axis = timeAxis(spans, width)
          const times = spans.flatMap(({ from, to }) => [from, to]).toSorted((a, b) => a - b)
          const places = times.map(axis.place)
          for (const [at, place] of places.entries()) {
            expect(place).toBeGreaterThanOrEqual((places[at - 1] ?? 0) - 1e-6)
            expect(place).toBeLessThanOrEqual(axis.width + 1e-6)
          }
        },
      ),
    )
  })
})
