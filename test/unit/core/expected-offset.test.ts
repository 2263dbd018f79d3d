import { describe, expect, it } from '@jest/globals'
import { assert, bigInt, pre, property } from 'fast-check'
import { decideBatch, decideControlBatch, expectedAtJoin } from '../../../src/core/expected-offset.ts'

const at = (offset: bigint): { readonly kind: 'offset'; readonly offset: bigint } => ({ kind: 'offset', offset })
const BEGINNING = { kind: 'beginning' } as const
const offsets = bigInt({ min: 0n, max: 50n })

describe('where an epoch begins', () => {
  it.each([
    ['at the committed offset', 7n, undefined, at(7n)],
    ['at 0 when 0 is committed', 0n, undefined, at(0n)],
    ['never below what this process committed', 3n, 7n, at(7n)],
    ['above it, where another member committed more', 9n, 7n, at(9n)],
    ['at what this process committed, when kafkajs reset the group', -2n, 7n, at(7n)],
    ['at the beginning without a commit', -1n, undefined, BEGINNING],
    ['at the beginning after a reset by another process', -2n, undefined, BEGINNING],
    ['at the beginning of a partition the group does not know', undefined, undefined, BEGINNING],
  ])('%s', (_law, committed, floor, expected) => {
    expect(expectedAtJoin(committed, floor)).toEqual(expected)
  })
})

describe('a batch', () => {
  const bounds = { low: 10n, high: 20n }

  it('is taken where it goes on, without a question', () => {
    expect(decideBatch({ fetched: 15n, expected: at(15n), bounds: undefined })).toEqual({ act: 'take' })
  })

  it.each([
    ['below', 14n, at(15n)],
    ['above', 16n, at(15n)],
    ['of a group without commits', 0n, BEGINNING],
  ])('%s is asked about', (_what, fetched, expected) => {
    expect(decideBatch({ fetched, expected, bounds: undefined })).toEqual({ act: 'ask' })
  })

  it.each([
    ['that jumped over messages is dropped, and they are read', 17n, at(12n), 12n, 'skipped', 12n, 17n],
    ['that fell back is dropped: kafkajs has reset the group', 10n, at(15n), 15n, 'reset', 15n, 10n],
    ['at the end of the log that jumped is no exception', 20n, at(19n), 19n, 'skipped', 19n, 20n],
    ['after a deletion by the broker goes on at the first that is left', 5n, at(4n), 10n, 'lost-by-retention', 4n, 10n],
    ['of a shorter log starts it anew', 15n, at(21n), 10n, 'truncated', 21n, 20n],
  ])('%s', (_law, fetched, expected, to, what, from, until) => {
    expect(decideBatch({ fetched, expected, bounds })).toEqual({
      act: 'seek',
      to,
      finding: { what, from, to: until },
    })
  })

  it.each([
    ['deleted by the broker', at(4n), 'lost-by-retention', 4n, 10n],
    ['truncated', at(21n), 'truncated', 21n, 20n],
  ])('that begins where the log does is taken though what was expected is %s', (_what, expected, what, from, to) => {
    expect(decideBatch({ fetched: 10n, expected, bounds })).toEqual({ act: 'take', finding: { what, from, to } })
  })

  it('of a group without commits is taken only from the beginning', () => {
    expect(decideBatch({ fetched: 10n, expected: BEGINNING, bounds })).toEqual({ act: 'take' })
    expect(decideBatch({ fetched: 9n, expected: BEGINNING, bounds })).toEqual({ act: 'take' })
    expect(decideBatch({ fetched: 11n, expected: BEGINNING, bounds })).toMatchObject({ act: 'seek', to: 10n })
  })

  it('never passes over a message the broker has', () => {
    assert(
      property(offsets, offsets, offsets, offsets, (fetched, expected, low, more) => {
        pre(fetched !== expected)
        const log = { low, high: low + more }
        const decision = decideBatch({ fetched, expected: at(expected), bounds: log })
        if (decision.act === 'ask') throw new Error('asked again')
        const next = decision.act === 'take' ? fetched : decision.to
        const firstWanted = expected > log.high || expected < low ? low : expected
        expect(next).toBe(firstWanted)
      }),
    )
  })
})

describe('a batch of control records alone', () => {
  it.each([
    ['goes on where the last batch ended', 5n, 7n, 5n, 'enter'],
    ['begins before, and ends after', 3n, 7n, 5n, 'enter'],
    ['lies below: a position that fell back', 2n, 4n, 5n, 'seek'],
    ['comes after a gap: compaction or a skip', 8n, 9n, 5n, 'seek'],
    ['holds no record at or above what was asked for', undefined, 5n, 5n, 'enter'],
    ['holds none, and was asked for elsewhere', undefined, 6n, 5n, 'seek'],
  ])('that %s', (_what, first, last, expected, decision) => {
    expect(decideControlBatch({ first, last, expected, seenAgain: false })).toBe(decision)
  })

  it('that comes after a gap again, when read from the expected offset, is entered: the gap is real', () => {
    expect(decideControlBatch({ first: 8n, last: 9n, expected: 5n, seenAgain: true })).toBe('enter')
  })

  it('is never entered below the expected offset', () => {
    expect(decideControlBatch({ first: 2n, last: 4n, expected: 5n, seenAgain: true })).toBe('seek')
  })
})
