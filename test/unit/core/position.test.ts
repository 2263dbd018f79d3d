import { describe, expect, it } from '@jest/globals'
import { array, assert, boolean, integer, property } from 'fast-check'
import {
  claimStream,
  nextAfter,
  refundStarts,
  type CountedAttempts,
  type PositionRecord,
  type StreamItem,
} from '../../../src/core/position.ts'

const at = (next: bigint, more: Partial<PositionRecord> = {}): PositionRecord => ({
  next,
  aside: undefined,
  attempts: undefined,
  ...more,
})

/** Messages at these offsets, each right behind the one before it. */
function run(offsets: readonly bigint[], follows: bigint | undefined): readonly StreamItem[] {
  return offsets.map((offset, index) => {
    const before = offsets[index - 1]
    return { offset, follows: before === undefined ? follows : before + 1n }
  })
}

function verdicts(
  record: PositionRecord | undefined,
  items: readonly StreamItem[],
  how: { token?: string; alone?: boolean } = {},
): readonly string[] {
  const claim = claimStream(record, items, { token: 'mine', alone: false, ...how })
  return claim.verdicts.map((one) => (one.verdict === 'claimed' ? `claimed ${one.attempt}` : one.verdict))
}

describe('a claim of a stream', () => {
  it.each([
    ['grants what lies at the position', at(5n), [5n, 6n], 5n, ['claimed 1', 'claimed 1']],
    ['answers done below it', at(6n), [4n, 5n, 6n], 4n, ['done', 'done', 'claimed 1']],
    ['steps over a gap before it', at(5n), [9n], 5n, ['claimed 1']],
    ['steps over gaps within it', at(5n), [5n, 9n, 20n], 5n, ['claimed 1', 'claimed 1', 'claimed 1']],
    ['refuses what follows something that is not over', at(5n), [8n, 9n], 8n, ['behind', 'behind']],
    ['begins a stream that has no record', undefined, [7n, 8n], undefined, ['claimed 1', 'claimed 1']],
    ['refuses to begin in the middle of what was read', undefined, [7n, 8n], 7n, ['behind', 'behind']],
    ['refuses to begin above a record that came meanwhile', at(5n), [7n], undefined, ['behind']],
    ['begins at a record that came meanwhile', at(7n), [7n], undefined, ['claimed 1']],
  ] as const)('%s', (_law, record, offsets, follows, expected) => {
    expect(verdicts(record, run(offsets, follows))).toEqual(expected)
  })

  it('lets nothing pass what is set aside', () => {
    const record = at(5n, { aside: { as: 'given-up', reason: 'why' } })
    expect(claimStream(record, run([4n, 5n, 6n, 7n], 4n), { token: 'mine', alone: false })).toEqual({
      verdicts: [
        { verdict: 'done' },
        { verdict: 'given-up', reason: 'why' },
        { verdict: 'busy', leaseLeftMs: 0 },
        { verdict: 'busy', leaseLeftMs: 0 },
      ],
      granted: undefined,
    })
    expect(verdicts(record, run([6n], 6n), { alone: true })).toEqual(['behind'])
  })

  it('parks all that a handler has committed by itself, one after the other, over gaps, and nothing behind it', () => {
    const torn = { until: 9n, reason: 'torn' }
    const record = at(5n, { torn, attempts: { owner: 'his', offset: 5n, count: 1, until: 9n } })
    for (const how of [{}, { alone: true }]) {
      expect(verdicts(record, run([4n, 5n, 6n, 10n], 4n), how)).toEqual(['done', 'parked', 'busy', 'busy'])
      expect(verdicts({ ...record, next: 7n }, run([9n, 10n], 7n), how)).toEqual(['parked', 'busy'])
      expect(verdicts({ ...record, next: 7n }, run([10n], 7n), how)).toEqual(['claimed 1'])
    }
    expect(verdicts(record, run([9n], 9n))).toEqual(['behind'])
  })

  it('goes on behind what is set aside and no longer in the stream: nobody can publish it', () => {
    expect(verdicts(at(5n, { aside: { as: 'given-up', reason: 'why' } }), run([9n], 5n))).toEqual(['claimed 1'])
  })

  it('counts what it grants as one range', () => {
    const { granted } = claimStream(at(5n), run([6n, 8n, 9n], 5n), { token: 'mine', alone: false })
    expect(granted).toEqual({ next: 5n, attempts: { owner: 'mine', offset: 6n, count: 1, until: 9n } })
  })

  it('grants what was started before only alone, and counts on', () => {
    const attempts: CountedAttempts = { owner: 'dead', offset: 5n, count: 1, until: 7n }
    const items = run([5n, 6n, 7n, 8n], 5n)
    const record = at(5n, { attempts })
    expect(verdicts(record, items)).toEqual(['again-alone', 'again-alone', 'again-alone', 'again-alone'])
    const told = claimStream(at(5n, { attempts: { ...attempts, count: 3 } }), items, { token: 'mine', alone: false })
    expect(told.verdicts.map((one) => 'attempts' in one && one.attempts)).toEqual([3, 1, 1, 0])
    expect(verdicts(record, items, { alone: true })).toEqual(['claimed 2', 'again-alone', 'again-alone', 'again-alone'])
    expect(claimStream(record, items, { token: 'mine', alone: true }).granted?.attempts).toEqual({
      owner: 'mine',
      offset: 5n,
      count: 2,
      until: 7n,
    })
    expect(verdicts(at(8n, { attempts }), run([8n, 9n], 8n))).toEqual(['claimed 1', 'claimed 1'])
    expect(verdicts(at(6n, { attempts }), run([6n], 6n), { alone: true })).toEqual(['claimed 2'])
  })

  it('counts once when it is sent again', () => {
    const items = run([5n, 6n], 5n)
    const first = claimStream(at(5n), items, { token: 'mine', alone: false })
    const again = claimStream(at(5n, { attempts: first.granted?.attempts }), items, { token: 'mine', alone: false })
    expect(again).toEqual(first)
    const suspect = { owner: 'dead', offset: 5n, count: 3, until: 9n }
    const alone = claimStream(at(5n, { attempts: suspect }), run([5n], 5n), { token: 'mine', alone: true })
    expect(alone.granted?.attempts.count).toBe(4)
    const once = at(5n, { attempts: alone.granted?.attempts })
    expect(claimStream(once, run([5n], 5n), { token: 'mine', alone: true })).toEqual(alone)
  })

  it('counts nothing where nothing is granted', () => {
    expect(claimStream(at(9n), run([5n, 6n], 5n), { token: 'mine', alone: false }).granted).toBeUndefined()
  })
})

describe('attempts that are given back', () => {
  it.each([
    ['by nobody', undefined, undefined],
    ['by who counted them', { owner: 'mine', offset: 5n, count: 1, until: 9n }, undefined],
    [
      'but one, of what was started before',
      { owner: 'mine', offset: 5n, count: 3, until: 9n },
      { owner: '', offset: 5n, count: 2, until: 9n },
    ],
    ['stay where another has counted since', { owner: 'other', offset: 5n, count: 1, until: 9n }, 'same'],
  ] as const)('%s', (_law, attempts, expected) => {
    expect(refundStarts(attempts, 'mine')).toEqual(expected === 'same' ? attempts : expected)
  })
})

describe('a mark', () => {
  it('moves behind the last message of the transaction', () => {
    expect(nextAfter([5n, 9n, 7n])).toBe(10n)
  })
})

describe('whatever was read, started and stored', () => {
  it('nothing is granted unless all before it is over or granted with it', () => {
    const offsets = array(integer({ min: 0, max: 12 }), { maxLength: 8 })
    assert(
      property(
        offsets,
        integer({ min: 0, max: 12 }),
        integer({ min: 0, max: 12 }),
        boolean(),
        boolean(),
        (log, next, read, isAside, alone) => {
          const stream = [...new Set(log)].toSorted((a, b) => a - b).map(BigInt)
          const items = run(
            stream.filter((offset) => offset >= read),
            BigInt(read),
          )
          const record = at(BigInt(next), isAside ? { aside: { as: 'given-up', reason: '' } } : {})
          const { verdicts: answers } = claimStream(record, items, { token: 'mine', alone })
          const over = new Set(stream.filter((offset) => offset < BigInt(next)))
          for (const [index, { offset }] of items.entries()) {
            const verdict = answers[index]?.verdict
            const overtaken = verdict === 'claimed' ? stream.filter((one) => one < offset && !over.has(one)) : []
            expect([offset, verdict === 'done', overtaken]).toEqual([offset, over.has(offset), []])
            if (verdict === 'claimed') over.add(offset)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})
