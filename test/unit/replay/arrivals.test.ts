import { describe, expect, it } from '@jest/globals'
import { array, assert, boolean, integer, property } from 'fast-check'
import { Arrivals, KnownArrivals } from '../../../src/replay/arrivals.ts'

/** What is known after the messages of a part were noted, at positions 0, 3, 6, and so on. */
function known(times: readonly number[]): KnownArrivals {
  const arrivals = new Arrivals()
  for (const [at, time] of times.entries()) arrivals.note(BigInt(at * 3), time)
  return new KnownArrivals(JSON.parse(JSON.stringify(arrivals)))
}

describe('when messages arrived, at the earliest', () => {
  it('takes the smallest timestamp at a position or later', () => {
    const of = known([5, 90, 7, 20, 8, 30])
    expect([0n, 3n, 6n, 9n, 12n, 15n].map((position) => of.notBefore(position))).toEqual([5, 7, 7, 8, 8, 30])
    expect(of.notBefore(16n)).toBeUndefined()
  })

  it('is never later than that, however many messages there are, and needs bounded memory', () => {
    const times = array(integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 4_000 })
    assert(
      property(times, boolean(), (drawn, isSorted) => {
        const list = isSorted ? drawn.toSorted((a, b) => a - b) : drawn
        const of = known(list)
        let smallest = Number.POSITIVE_INFINITY
        for (let at = list.length - 1; at >= 0; at--) {
          smallest = Math.min(smallest, list[at] ?? 0)
          expect(of.notBefore(BigInt(at * 3))).toBeLessThanOrEqual(smallest)
        }
      }),
      { numRuns: 60 },
    )
    const arrivals = new Arrivals()
    for (let at = 0; at < 100_000; at++) arrivals.note(BigInt(at), at)
    expect(arrivals.toJSON().length).toBeLessThanOrEqual(512)
  })
})
