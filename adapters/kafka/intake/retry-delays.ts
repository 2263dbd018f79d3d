import { COPY_HEADER, copyNumber, type DurationMs, type MonotonicMs } from '../../../src/internal.ts'
import { headersOf } from '../copies/headers.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { PartitionHolds } from '../membership/partition-holds.ts'
import type { FetchedBatch, RawMessage } from '../client.ts'
import type { CopyPlace } from '../options/topology.ts'

/**
 * Shortest hold with a long delay: each batch that is fetched for one due message is dropped with its other messages.
 */
const HOLD_AT_LEAST_MS = 1_000

/** All messages below `high` had arrived by `at`. */
interface Seen {
  readonly high: bigint
  readonly at: MonotonicMs
}

/**
 * Leaves messages on retry topics until they are due: they take no memory meanwhile, and their partition is paused.
 * Each batch decides anew which messages are due, so a rebalance loses nothing.
 */
export class RetryDelays {
  readonly #holds: PartitionHolds
  readonly #delays: ReadonlyMap<string, DurationMs>
  readonly #seen = new Map<string, Seen>()
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(holds: PartitionHolds, places: readonly CopyPlace[]) {
    this.#holds = holds
    const retries = places.filter(({ kind }) => kind === 'retry')
    this.#delays = new Map(retries.map(({ topic, delayMs }) => [topic, delayMs]))
  }

  /**
   * The first messages of a batch, which are due. If that is not all, the partition is held until the next one is due.
   */
  takeDue(epoch: PartitionEpoch, batch: FetchedBatch): readonly RawMessage[] {
    const delayMs = this.#delays.get(batch.topic)
    if (delayMs === undefined) return batch.messages
    for (const [index, message] of batch.messages.entries()) {
      const leftMs = this.#leftOf(message, epoch, batch, delayMs)
      if (leftMs <= 0) continue // mutant: kafka-retry-before-its-time
      this.#hold(epoch, Math.max(leftMs, Math.min(HOLD_AT_LEAST_MS, delayMs / 10)))
      return batch.messages.slice(0, index)
    }
    return batch.messages
  }

  /** The observations of this partition were from another log. */
  anotherLog({ name }: PartitionEpoch): void {
    this.#seen.delete(name)
  }

  /** The epochs have ended, or nothing more is taken. */
  forget(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  /** Never longer than the delay of the topic, whatever the header says: the clock that set it may be wrong. */
  #leftOf(message: RawMessage, epoch: PartitionEpoch, batch: FetchedBatch, delayMs: DurationMs): DurationMs {
    const notBefore = copyNumber(headersOf(message.headers), COPY_HEADER.notBefore)
    if (notBefore === undefined || notBefore <= Date.now()) return 0
    const appendedAt = Number(message.timestamp)
    const sinceAppended = appendedAt >= 0 ? Date.now() - appendedAt : 0
    const sinceSeen = performance.now() - this.#seenAt(BigInt(message.offset), epoch, batch)
    return Math.min(notBefore - Date.now(), delayMs - sinceAppended, delayMs - sinceSeen)
  }

  /**
   * Every message that was there at the first look has waited since then. Otherwise a message behind others would start
   * its wait only in its turn.
   */
  #seenAt(offset: bigint, { name }: PartitionEpoch, batch: FetchedBatch): MonotonicMs {
    const seen = this.#seen.get(name)
    const high = BigInt(batch.highWatermark)
    // A log that ends before an observed offset is another log: none of its messages has waited.
    if (seen !== undefined && offset < seen.high && high >= seen.high) return seen.at
    const at = performance.now()
    this.#seen.set(name, { high, at })
    return at
  }

  #hold(epoch: PartitionEpoch, forMs: DurationMs): void {
    this.#holds.hold(epoch, 'not-due')
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#holds.release(epoch, 'not-due')
    }, forMs)
    this.#timers.add(timer)
  }
}
