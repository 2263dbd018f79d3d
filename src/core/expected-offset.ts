/**
 * For Kafka adapters: checks that a fetched batch continues exactly where the last one ended. kafkajs moves its
 * position silently: a fetch that was in flight during a rejoin skips messages, and after OFFSET_OUT_OF_RANGE it starts
 * at another offset. Nothing else notices this, and a skipped message is lost.
 */

/** The offset at which the next batch of a partition must begin. */
export type Expected =
  | { readonly kind: 'offset'; readonly offset: bigint }
  /** The group has no committed offset here: the first offset of the partition. */
  | { readonly kind: 'beginning' }

/** The broker's answer for a partition without a committed offset. */
const NONE_COMMITTED = -1n

/** The first and the next offset of a partition, from its leader. */
export interface LogBounds {
  readonly low: bigint
  readonly high: bigint
}

export type Finding =
  /** kafkajs skipped the messages between the last batch and this one. */
  | { readonly what: 'skipped'; readonly from: bigint; readonly to: bigint }
  /** The position moved backwards, and kafkajs has committed an invalid offset. */
  | { readonly what: 'reset'; readonly from: bigint; readonly to: bigint }
  /**
   * The broker has deleted messages, by retention or on request, before this group received them. They cannot be
   * recovered.
   */
  | { readonly what: 'lost-by-retention'; readonly from: bigint; readonly to: bigint }
  /**
   * The partition ends before the received offset: it was truncated, or its topic was re-created. Read all of it again.
   */
  | { readonly what: 'truncated'; readonly from: bigint; readonly to: bigint }

export type BatchDecision =
  | { readonly act: 'take'; readonly finding?: Finding }
  /** Drop the batch unresolved and seek to `to`. */
  | { readonly act: 'seek'; readonly to: bigint; readonly finding: Finding }
  /** The batch does not fit: ask the broker for the bounds and decide again. */
  | { readonly act: 'ask' }

/**
 * The offset at which an epoch begins. `committed` is the offset of the group, negative for none (-1) or after a reset
 * by kafkajs (-2). `floor` is the last watermark that this process committed. The result is never lower, with one
 * exception: while a group has members, the broker deletes its offsets only together with their topic, so without a
 * committed offset the topic is a new one.
 */
export function expectedAtJoin(committed: bigint | undefined, floor: bigint | undefined): Expected {
  if (committed === NONE_COMMITTED) return { kind: 'beginning' }
  const known = [committed, floor].filter((offset) => offset !== undefined && offset >= 0n)
  const [first, second] = known
  if (first === undefined) return { kind: 'beginning' }
  return { kind: 'offset', offset: second !== undefined && second > first ? second : first }
}

/** `fetched` is the requested offset, not the offset of the first message: gaps left by compaction are not skips. */
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
 * Decides about a batch that has only control records and aborted records. kafkajs does not hand it over; it only moves
 * its position past `last`. `first` is the lowest offset of its records; it is `undefined` if all were below the
 * requested offset, which then is `last`. The requested offset is not known, so a gap before the batch may be
 * compaction or a skip. Fetch once more from the expected offset: a fetch that was left over from before a rejoin
 * answers only once, so a batch that comes again (`seenAgain`) is genuine.
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
