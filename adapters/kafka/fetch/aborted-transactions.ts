import type { Bytes } from './bytes.ts'

/** Aborted transactions, as the broker lists them beside the records of a fetch; `undefined` where uncommitted ones are read too. */
export type Listed = readonly AbortedTransaction[] | undefined

interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** `count`: of the transactions that follow; negative where there is no list. `read`: the rest of each. */
export function abortedIn(bytes: Bytes, count: number, read: () => void = () => {}): Listed {
  if (count < 0) return undefined
  const listed: AbortedTransaction[] = []
  while (listed.length < count) {
    listed.push({ producerId: bytes.int64(), firstOffset: bytes.int64() })
    read()
  }
  return listed
}

/** A fetched record batch, as far as its transaction is concerned. */
export interface TransactionalBatch {
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  readonly producerId: bigint
  readonly isTransactional: boolean
  /** The key of the marker of a control batch, `null` if it has lost its record; `undefined` for any other batch. */
  readonly marker: Buffer | null | undefined
}

/** The type of a control record is the second number of its key. Zero: the transaction was aborted. */
const ABORT = 0
const TYPE_AT = 2
const KEY_BYTES = 4

/**
 * The batches of a fetch that belong to aborted transactions: those that the broker lists, and those whose abort marker is in
 * the fetch. A replica that has fetched several transactions of a producer at once may list too few: its index says of the
 * first of them that nothing undecided follows before the next other producer, and a fetch that ends there looks no further
 * (`lastStableOffset` in Kafka's `ProducerStateManager` and `TransactionIndex`, found in 4.3).
 *
 * `batches`: all of a partition, in the order of their offsets. kafkajs takes the list as it comes, at most one entry for each
 * message, and any message with the key of a marker for a marker.
 */
export function abortedAmong<B extends TransactionalBatch>(listed: Listed, batches: readonly B[]): ReadonlySet<B> {
  const aborted = new Set<B>()
  if (listed === undefined) return aborted
  addListed(listed, batches, aborted)
  addMarked(batches, aborted) // mutant: kafka-aborted-as-listed
  return aborted
}

/**
 * By the rule of Kafka's own consumer: from the first offset of a transaction in the broker's list, the transactional batches
 * of its producer are aborted, up to the abort marker of that producer. The broker lists transactions in the order in which
 * they ended, so they are sorted first.
 */
function addListed<B extends TransactionalBatch>(
  listed: readonly AbortedTransaction[],
  batches: readonly B[],
  aborted: Set<B>,
): void {
  // The next transaction to begin is the last one.
  const toBegin = listed.toSorted((a, b) => (a.firstOffset < b.firstOffset ? 1 : -1)) // mutant: kafka-aborted-not-sorted, kafka-aborted-once-for-a-producer
  const open = new Set<bigint>()
  for (const batch of batches) {
    const { lastOffset, producerId, isTransactional, marker } = batch
    for (let next = toBegin.at(-1); next !== undefined && next.firstOffset <= lastOffset; next = toBegin.at(-1)) {
      open.add(next.producerId)
      toBegin.pop()
    }
    if (isTransactional && open.has(producerId)) aborted.add(batch)
    if (isAbortMarker(marker)) open.delete(producerId) // mutant: kafka-abort-without-end
  }
}

/**
 * The batches of a producer before its abort marker, as far as no offset is missing in between: the marker of an earlier
 * transaction may have been compacted away.
 */
function addMarked<B extends TransactionalBatch>(batches: readonly B[], aborted: Set<B>): void {
  const endsAborted = new Map<bigint, boolean>()
  let following: bigint | undefined
  for (let at = batches.length - 1; at >= 0; at--) {
    const batch = batches[at] as B
    const { firstOffset, lastOffset, producerId, isTransactional, marker } = batch
    if (following !== lastOffset + 1n) endsAborted.clear() // mutant: kafka-abort-past-compaction
    following = firstOffset
    if (marker !== undefined) endsAborted.set(producerId, isAbortMarker(marker))
    else if (isTransactional && endsAborted.get(producerId) === true) aborted.add(batch)
  }
}

function isAbortMarker(marker: Buffer | null | undefined): boolean {
  if (marker === undefined || marker === null || marker.length < KEY_BYTES) return false
  return marker.readInt16BE(TYPE_AT) === ABORT
}
