import { describe, expect, it } from '@jest/globals'
import { array, assert, constant, constantFrom, integer, nat, oneof, property, record, tuple } from 'fast-check'
import { abortedAmong, type TransactionalBatch } from '../../../../adapters/kafka/fetch/aborted-transactions.ts'
import { marker } from './fetch-bytes.ts'

const PRODUCERS = [1, 2, 3, 4] as const
/** Never ends a transaction, and never begins one. */
const PLAIN = 9n

interface Batch {
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  readonly producerId: bigint
  readonly isTransactional: boolean
  readonly marker: Buffer | undefined
  /** How its transaction ended; an open one is not visible to a reader. */
  fate: 'committed' | 'aborted' | 'open'
}

interface Step {
  readonly act: 'write' | 'plain' | 'abort' | 'commit'
  readonly producer: number
  readonly records: number
}

interface Listed {
  readonly producerId: bigint
  readonly firstOffset: bigint
  readonly endOffset: bigint
}

/** The log of a partition after these steps, with the broker's list of aborted transactions, in the order of their ends. */
function logOf(steps: readonly Step[]): { batches: Batch[]; aborted: Listed[]; stable: bigint } {
  const [batches, aborted] = [[] as Batch[], [] as Listed[]]
  const open = new Map<bigint, Batch[]>()
  let offset = 0n
  for (const { act, producer, records } of steps) {
    const producerId = act === 'plain' ? PLAIN : BigInt(producer)
    const isTransactional = act !== 'plain'
    const isEnd = act === 'abort' || act === 'commit'
    if (isEnd && !open.has(producerId)) continue
    const lastOffset = offset + BigInt(isEnd ? 0 : records - 1)
    const batch: Batch = {
      firstOffset: offset,
      lastOffset,
      producerId,
      isTransactional,
      marker: isEnd ? marker(act) : undefined,
      fate: isTransactional ? 'open' : 'committed',
    }
    batches.push(batch)
    offset = lastOffset + 1n
    if (!isTransactional) continue
    const ofTransaction = [...(open.get(producerId) ?? []), batch]
    open.set(producerId, ofTransaction)
    if (!isEnd) continue
    for (const one of ofTransaction) one.fate = act === 'abort' ? 'aborted' : 'committed'
    const firstOffset = ofTransaction[0]?.firstOffset ?? 0n
    if (act === 'abort') aborted.push({ producerId, firstOffset, endOffset: batch.lastOffset })
    open.delete(producerId)
  }
  const firsts = [...open.values()].map(([first]) => first?.firstOffset ?? offset)
  return { batches, aborted, stable: firsts.reduce((low, first) => (first < low ? first : low), offset) }
}

const END = constantFrom('abort' as const, 'commit' as const)

const step = record({
  act: constantFrom('write', 'write', 'write', 'plain', 'abort', 'commit'),
  producer: constantFrom(...PRODUCERS),
  records: integer({ min: 1, max: 3 }),
})

/** A reader sees nothing from the first open transaction on: mostly all of them end. */
const ENDED = oneof(
  {
    weight: 4,
    arbitrary: tuple(
      ...PRODUCERS.map((producer) => record({ act: END, producer: constant(producer), records: constant(1) })),
    ),
  },
  { weight: 1, arbitrary: constant([]) },
)

describe('the batches of a fetch', () => {
  it('are aborted exactly if their transaction was, wherever the fetch begins and ends (K22)', () => {
    const fetched = record({ steps: array(step, { maxLength: 60 }), ended: ENDED, from: nat(40), length: nat(60) })
    const law = property(fetched, ({ steps, ended, from, length }) => {
      const { batches, aborted, stable } = logOf([...steps, ...ended])
      const window = batches
        .filter(({ lastOffset }) => lastOffset >= BigInt(from) && lastOffset < stable)
        .slice(0, length)
      const [begin, end] = [window[0]?.firstOffset ?? 0n, window.at(-1)?.lastOffset ?? -1n]
      const listed = aborted.filter(({ firstOffset, endOffset }) => endOffset >= begin && firstOffset <= end)
      const told = abortedAmong(listed, window)
      expect(window.map((batch) => (told.has(batch) ? 'aborted' : 'committed'))).toEqual(window.map(({ fate }) => fate))
    })
    assert(law, { numRuns: 1_000 })
  })

  it('are told apart where two transactions of one list begin in one fetch, listed by their ends', () => {
    const listed = [
      { producerId: 2n, firstOffset: 1n },
      { producerId: 1n, firstOffset: 0n },
    ]
    expect(abortedOf(listed, [of(1n, 0), of(2n, 1), of(1n, 2)])).toEqual([0, 1, 2])
  })

  it('that are no transaction are never aborted, nor does a commit marker end what is', () => {
    const listed = [{ producerId: 1n, firstOffset: 0n }]
    const ended = [of(1n, 0), plain(1), of(1n, 2, marker('commit')), of(1n, 3), of(1n, 4, Buffer.alloc(0))]
    const rest = [of(1n, 5, null), of(1n, 6), of(1n, 7, marker('abort')), of(1n, 8)]
    expect(abortedOf(listed, [...ended, ...rest])).toEqual([0, 3, 6])
  })

  it('are aborted though the broker does not list them, if their abort marker is in the fetch (K29)', () => {
    const first = [of(1n, 0), of(1n, 1, marker('abort'))]
    const second = [of(1n, 2), of(2n, 3), plain(4), of(1n, 5), of(1n, 6, marker('abort')), of(1n, 7)]
    const committed = [of(1n, 8, marker('commit'))]
    expect(abortedOf([{ producerId: 1n, firstOffset: 0n }], [...first, ...second, ...committed])).toEqual([0, 2, 5])
  })

  it('are not aborted by the marker of a later transaction, that compaction has parted from a marker of their own', () => {
    const [committed, itsMarkerIsGone] = [of(1n, 0), 2]
    const later = [of(1n, itsMarkerIsGone), of(1n, 3, marker('abort'))]
    expect(abortedOf([], [committed, ...later])).toEqual([2])
    expect(abortedOf([], [committed, of(1n, 1, null), ...later])).toEqual([2])
  })
})

function of(producerId: bigint, offset: number, end?: Buffer | null): TransactionalBatch {
  const at = BigInt(offset)
  return { producerId, firstOffset: at, lastOffset: at, isTransactional: true, marker: end }
}

function plain(offset: number): TransactionalBatch {
  return { ...of(1n, offset), isTransactional: false }
}

/** Offsets of those that are no markers. */
function abortedOf(
  listed: Parameters<typeof abortedAmong>[0],
  batches: readonly TransactionalBatch[],
): readonly number[] {
  const aborted = abortedAmong(listed, batches)
  return batches.flatMap((one) => (one.marker === undefined && aborted.has(one) ? [Number(one.firstOffset)] : []))
}
