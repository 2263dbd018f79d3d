import type { DurationMs, MonotonicMs } from '../../../src/index.ts'
import { headerText } from '../copies/headers.ts'
import type { PartitionEpoch } from '../membership/partition-epoch.ts'
import type { PartitionHolds } from './partition-holds.ts'
import { NOT_BEFORE_HEADER } from '../copies/retry-headers.ts'
import type { BatchLike, KafkaMessageLike } from '../slice.ts'
import type { CopyPlace } from '../copies/topology.ts'

/** A batch that is fetched for one message is dropped with all the others: not more often than this for a long delay. */
const HOLD_AT_LEAST_MS = 1_000

/** All messages below `high` had arrived by `at`. */
interface Seen {
  readonly high: bigint
  readonly at: MonotonicMs
}

/**
 * Keeps what lies on retry topics there until it is due: nothing of it is in memory meanwhile, and its partition is paused.
 * What is due is decided anew with each batch, so nothing has to survive a rebalance.
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

  /** The first of a batch's messages, which may be taken now. Where that is not all, its partition is held until the next is due. */
  takeDue(epoch: PartitionEpoch, batch: BatchLike): readonly KafkaMessageLike[] {
    const delayMs = this.#delays.get(batch.topic)
    if (delayMs === undefined) return batch.messages
    for (const [index, message] of batch.messages.entries()) {
      const leftMs = this.#leftOf(message, epoch, batch, delayMs)
      if (leftMs <= 0) continue
      this.#hold(epoch, Math.max(leftMs, Math.min(HOLD_AT_LEAST_MS, delayMs / 10)))
      return batch.messages.slice(0, index)
    }
    return batch.messages
  }

  /** What was seen of a partition was another log. */
  anotherLog({ name }: PartitionEpoch): void {
    this.#seen.delete(name)
  }

  /** The epochs are over, or nothing more is taken. */
  forget(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  /** Never longer than the delay of its topic, whatever the header says: it may come from a clock that is wrong. */
  #leftOf(message: KafkaMessageLike, epoch: PartitionEpoch, batch: BatchLike, delayMs: DurationMs): DurationMs {
    const told = headerText(message.headers ?? {}, NOT_BEFORE_HEADER)
    const notBefore = told === undefined ? Number.NaN : Number(told)
    if (Number.isNaN(notBefore) || notBefore <= Date.now()) return 0
    const appendedAt = Number(message.timestamp)
    const sinceAppended = appendedAt >= 0 ? Date.now() - appendedAt : 0
    const sinceSeen = performance.now() - this.#seenAt(BigInt(message.offset), epoch, batch)
    return Math.min(notBefore - Date.now(), delayMs - sinceAppended, delayMs - sinceSeen)
  }

  /** All that lay there at the first look is as old as that look: behind it, a message would wait for its turn to wait. */
  #seenAt(offset: bigint, { name }: PartitionEpoch, batch: BatchLike): MonotonicMs {
    const seen = this.#seen.get(name)
    const high = BigInt(batch.highWatermark)
    // A log that ends before what was seen of it is another one: nothing of it has waited.
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
