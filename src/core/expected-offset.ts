/**
 * For adapters of Kafka: whether a fetched batch goes on exactly where the last one ended. kafkajs moves its position without telling: a fetch
 * that was under way during a rejoin skips messages, and an OFFSET_OUT_OF_RANGE answer starts it anew. Nothing else notices,
 * and what is skipped here is lost.
 */

/** Where the next batch of a partition must begin. */
export type Expected =
  | { readonly kind: 'offset'; readonly offset: bigint }
  /** The group has never committed here: wherever the partition begins. */
  | { readonly kind: 'beginning' }

/** What a broker answers for a partition that the group has not committed. */
const NONE_COMMITTED = -1n

/** The first and the next offset of a partition, as its leader tells them. */
export interface LogBounds {
  readonly low: bigint
  readonly high: bigint
}

export type Finding =
  /** Messages between what was received and this batch were jumped over. */
  | { readonly what: 'skipped'; readonly from: bigint; readonly to: bigint }
  /** The position fell back, and kafkajs has written an invalid offset into the group. */
  | { readonly what: 'reset'; readonly from: bigint; readonly to: bigint }
  /** The broker has deleted messages, by retention or by hand, that this group has not received. Nobody can bring them back. */
  | { readonly what: 'lost-by-retention'; readonly from: bigint; readonly to: bigint }
  /** The partition ends before what was received: it was truncated, or its topic re-created. All of it is read again. */
  | { readonly what: 'truncated'; readonly from: bigint; readonly to: bigint }

export type BatchDecision =
  | { readonly act: 'take'; readonly finding?: Finding }
  /** Drop the batch unresolved and go to `to`. */
  | { readonly act: 'seek'; readonly to: bigint; readonly finding: Finding }
  /** The batch does not fit: ask the broker for the bounds and decide again. */
  | { readonly act: 'ask' }

/**
 * Where an epoch begins. `committed`: what the group has, negative for none (-1) or a reset by kafkajs (-2). `floor`: the
 * last watermark this process committed. It is never below that, with one exception: the broker forgets the offsets of a group
 * with members only when their topic is deleted, so where it has none any more the topic is another one.
 */
export function expectedAtJoin(committed: bigint | undefined, floor: bigint | undefined): Expected {
  if (committed === NONE_COMMITTED) return { kind: 'beginning' }
  const known = [committed, floor].filter((offset) => offset !== undefined && offset >= 0n)
  const [first, second] = known
  if (first === undefined) return { kind: 'beginning' }
  return { kind: 'offset', offset: second !== undefined && second > first ? second : first }
}

/** `fetched` is the offset that was asked for, not that of the first message: gaps by compaction are no skips. */
export function decideBatch(batch: {
  readonly fetched: bigint
  readonly expected: Expected
  readonly bounds: LogBounds | undefined
}): BatchDecision {
  const { fetched, expected, bounds } = batch
  if (expected.kind === 'offset' && fetched === expected.offset) return { act: 'take' }
  if (bounds === undefined) return { act: 'ask' }
  const { low, high } = bounds

  if (expected.kind === 'beginning') {
    if (fetched <= low) return { act: 'take' }
    return { act: 'seek', to: low, finding: { what: 'skipped', from: low, to: fetched } }
  }
  const { offset } = expected
  if (offset < low) return goOnAt(low, fetched, { what: 'lost-by-retention', from: offset, to: low })
  if (offset > high) return goOnAt(low, fetched, { what: 'truncated', from: offset, to: high })
  const what = fetched > offset ? 'skipped' : 'reset'
  return { act: 'seek', to: offset, finding: { what, from: offset, to: fetched } }
}

/**
 * What a batch of control and aborted records alone means: kafkajs does not hand it over, it only moves its position past
 * `last`. `first` is that of any record in it, `undefined` where all lay below the offset asked for, which then is `last`.
 * Its fetched offset is not told, so a gap before it may be compaction or a skip: one look again, from the expected offset,
 * tells (`seenAgain`), because a fetch left over from before a rejoin answers once.
 */
export function decideControlBatch(batch: {
  readonly first: bigint | undefined
  readonly last: bigint
  readonly expected: bigint
  readonly seenAgain: boolean
}): 'enter' | 'seek' {
  const { first, last, expected, seenAgain } = batch
  if (first === undefined) return last === expected ? 'enter' : 'seek'
  if (last < expected) return 'seek'
  return first <= expected || seenAgain ? 'enter' : 'seek'
}

function goOnAt(low: bigint, fetched: bigint, finding: Finding): BatchDecision {
  return fetched === low ? { act: 'take', finding } : { act: 'seek', to: low, finding }
}
