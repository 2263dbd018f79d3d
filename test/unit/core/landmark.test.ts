import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import { compareLandmark, landmarkIn, landmarkText, type Landmark } from '../../../src/core/landmark.ts'

const landmarks = fc.record({
  offset: fc.bigInt(0n, 2n ** 62n),
  timestamp: fc.option(fc.integer({ min: 0, max: 4_000_000_000_000 }), { nil: undefined }),
  leaderEpoch: fc.option(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { nil: undefined }),
})

describe('the text of a landmark', () => {
  it('is read back as it was written, and stays far below what a broker takes', () => {
    fc.assert(
      fc.property(landmarks, fc.bigInt(1n, 1_000n), (landmark, gap) => {
        const committed = landmark.offset + gap
        const text = landmarkText(landmark, committed)
        expect(landmarkIn(text, committed)).toEqual(landmark)
        expect(text.length).toBeLessThanOrEqual(120)
      }),
    )
  })

  it('counts for nothing at another offset than the one with which it was committed', () => {
    fc.assert(
      fc.property(landmarks, fc.bigInt(0n, 2n ** 62n), (landmark, other) => {
        fc.pre(other !== landmark.offset + 1n)
        expect(landmarkIn(landmarkText(landmark, landmark.offset + 1n), other)).toBeUndefined()
      }),
    )
  })

  it('is not found in the text of anybody else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constant(null), fc.constant(undefined)), (text) => {
        expect(landmarkIn(text, 5n)).toBeUndefined()
      }),
    )
  })

  it.each([
    ['a field that it does not know', 'consume-once/1 next=5 last=4 timestamp=7 colour=1', { timestamp: 7 }],
    ['a field that it cannot read', 'consume-once/1 next=5 last=4 timestamp=x', {}],
    ['no more than the offset', 'consume-once/1 next=5 last=4', {}],
  ])('is read past %s', (_, text, known) => {
    expect(landmarkIn(text, 5n)).toEqual({ offset: 4n, timestamp: undefined, leaderEpoch: undefined, ...known })
  })
})

function at(timestamp: number | undefined, leaderEpoch: number | undefined, offset = 4n): Landmark {
  return { offset, timestamp, leaderEpoch }
}

describe('a landmark', () => {
  it.each([
    [at(7, 1), at(7, 1), 'same'],
    [at(7, 1), at(8, 1), 'another'],
    [at(7, 1), at(7, 2), 'another'],
    [at(7, undefined), at(7, 2), 'same'],
    [at(undefined, 1), at(7, 1), 'same'],
    [at(7, undefined), at(undefined, 2), 'unknown'],
    [at(7, 1), at(8, 1, 5n), 'unknown'],
    [at(7, 1), undefined, 'unknown'],
  ] as const)('%o is compared with %o: %s', (landmark, found, likeness) => {
    expect(compareLandmark(landmark, found)).toBe(likeness)
  })
})
