import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import {
  HIGHEST_NUMBER,
  leftTail,
  readSource,
  sourceText,
  UNKNOWN_SOURCE,
  verdictOn,
  withDone,
  type SourceRecord,
} from '../../../src/core/sequence.ts'

const LIMIT = 1_000
const someNumber = fc.oneof(
  fc.bigInt({ min: 0n, max: 60n }),
  fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }),
  fc.bigInt({ min: HIGHEST_NUMBER - 5n, max: HIGHEST_NUMBER }),
)
const someNumbers = fc.array(someNumber, { maxLength: 60 })

describe('the record of a source', () => {
  it('knows nothing of a source that it never saw: every number is new', () => {
    for (const one of [0n, 1n, 2n ** 53n, HIGHEST_NUMBER]) expect(verdictOn(UNKNOWN_SOURCE, one)).toBe('new')
  })

  it('does not take the first number for a proof about those below it', () => {
    const record = after([1_000n])
    expect([0n, 999n, 1_000n, 1_001n].map((one) => verdictOn(record, one))).toEqual(['new', 'new', 'done', 'new'])
  })

  it('says done of exactly the numbers that were added, in any order', () => {
    fc.assert(
      fc.property(someNumbers, someNumber, (added, other) => {
        const record = after(added)
        for (const one of added) expect(verdictOn(record, one)).toBe('done')
        expect(verdictOn(record, other)).toBe(added.includes(other) ? 'done' : 'new')
      }),
    )
  })

  it('is the same record in whatever order the numbers came', () => {
    fc.assert(
      fc.property(someNumbers, (added) => {
        const sorted = added.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
        expect(sourceText(after(added))).toBe(sourceText(after(sorted)))
      }),
    )
  })

  it('never says done of a number that was not added, however few gaps are kept', () => {
    fc.assert(
      fc.property(someNumbers, someNumber, fc.integer({ min: 1, max: 4 }), (added, other, maxGaps) => {
        const record = after(added, maxGaps)
        expect(record.gaps.length).toBeLessThanOrEqual(maxGaps)
        expect(verdictOn(record, other) === 'done' && !added.includes(other)).toBe(false)
        // What it forgot is told as forgotten, never as new.
        for (const one of added) expect(verdictOn(record, one)).toBe(one < record.floor ? 'forgotten' : 'done')
      }),
    )
  })

  it('needs no more room for a million numbers in a row than for one', () => {
    let record = UNKNOWN_SOURCE
    for (let at = 0n; at < 100_000n; at++) record = withDone(record, at, LIMIT)
    expect(sourceText(record)).toBe('S1|0|100000|')
  })

  it('is read from its text as it was', () => {
    fc.assert(
      fc.property(someNumbers, fc.integer({ min: 1, max: 5 }), (added, maxGaps) => {
        const record = after(added, maxGaps)
        expect(readSource(sourceText(record))).toEqual(record)
      }),
    )
  })

  it.each([
    '',
    'S1|0|5',
    'S2|0|5|',
    'S1|0|5|9',
    'S1|0|5|4',
    'S1|3|5|1',
    'S1|0|9|3-1',
    'S1|0|9|1,2',
    'S1|0|9|5,1',
    'S1|0|9|1-',
    'S1|-1|9|',
    `S1|0|${2n ** 64n + 1n}|`,
  ])('refuses the text %j: it is damaged or of another version', (text) => {
    expect(readSource(text)).toBeUndefined()
  })

  it('moves each number out of the tail once, and only if it is done', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.bigInt({ min: 0n, max: 40n }), { maxLength: 6 })),
        fc.nat(5),
        (batches, tail) => {
          let record = UNKNOWN_SOURCE
          const done = new Set<bigint>()
          const removed = new Set<bigint>()
          for (const added of batches) {
            const next = added.reduce((of, one) => withDone(of, one, LIMIT), record)
            for (const one of leftTail(record, next, { added, tail })) {
              expect(verdictOn(next, one)).toBe('done')
              removed.add(one)
            }
            record = next
            for (const one of added) done.add(one)
            const kept = [...done].filter((one) => !removed.has(one))
            expect(kept.every((one) => one + BigInt(tail) >= record.next)).toBe(true)
            expect([...removed].every((one) => one + BigInt(tail) < record.next)).toBe(true)
          }
        },
      ),
    )
  })
})

function after(numbers: readonly bigint[], maxGaps: number = LIMIT): SourceRecord {
  return numbers.reduce((record, one) => withDone(record, one, maxGaps), UNKNOWN_SOURCE)
}
