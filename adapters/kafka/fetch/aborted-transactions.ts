/** An aborted transaction, as the broker lists them beside the records of a fetch. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

/** A fetched record batch, as far as its transaction is concerned. */
export interface TransactionalBatch {
  readonly lastOffset: bigint
  readonly producerId: bigint
  readonly isTransactional: boolean
  /** The key of the marker if this is a control batch that still has its record; `undefined` for any other batch. */
  readonly marker: Buffer | null | undefined
}

/** The type of a control record is the second number of its key. Zero: the transaction was aborted. */
const ABORT = 0
const TYPE_AT = 2
const KEY_BYTES = 4

/**
 * Tells which batches of a fetch belong to aborted transactions, by the rule of Kafka's own consumer: from the first
 * offset of a transaction in the broker's list, the transactional batches of its producer are aborted, up to the abort
 * marker of that producer. The broker lists transactions in the order in which they ended, so they are sorted first.
 * kafkajs takes the list as it comes, at most one entry for each message, and any message with the key of a marker for
 * a marker.
 *
 * Give it all batches of a partition, in the order of their offsets.
 */
export class AbortedTransactions {
  /** The next transaction to begin is the last one. */
  readonly #toBegin: AbortedTransaction[]
  readonly #open = new Set<bigint>()

  constructor(listed: readonly AbortedTransaction[]) {
    this.#toBegin = listed.toSorted((a, b) => (a.firstOffset < b.firstOffset ? 1 : -1)) // mutant: kafka-aborted-not-sorted, kafka-aborted-once-for-a-producer
  }

  isAborted({ lastOffset, producerId, isTransactional, marker }: TransactionalBatch): boolean {
    for (let next = this.#toBegin.at(-1); next !== undefined && next.firstOffset <= lastOffset;) {
      this.#open.add(next.producerId)
      this.#toBegin.pop()
      next = this.#toBegin.at(-1)
    }
    const isAborted = isTransactional && this.#open.has(producerId)
    if (isAbortMarker(marker)) this.#open.delete(producerId) // mutant: kafka-abort-without-end
    return isAborted
  }
}

function isAbortMarker(marker: Buffer | null | undefined): boolean {
  if (marker === undefined || marker === null || marker.length < KEY_BYTES) return false
  return marker.readInt16BE(TYPE_AT) === ABORT
}
