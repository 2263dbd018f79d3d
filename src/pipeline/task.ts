import type { Digest, Key } from '../core/record.ts'
import type { EpochMs, MonotonicMs } from '../core/units.ts'
import type { Delivery, StreamPosition } from '../ports/source.ts'
import type { Message } from '../ports/message.ts'
import { shortened } from '../digest.ts'
import type { Lane } from './lanes.ts'

/** One message in this process, with all its deliveries (single flight). It ends once, for all of them. */
export class Task {
  readonly idempotencyKey: string
  readonly payloadHash: string
  readonly lane: string | undefined
  /** Strategy `offsets` only. */
  readonly position: StreamPosition | undefined
  /** The delivery that created the task. */
  readonly first: Delivery
  /** Used by `Flights` only: a task with the same key and another payload, which waits for this one. */
  rival: Task | undefined
  /** Used by `Flights` only: the task stays in its lane. */
  isBlocked = false
  /** Must not share a claim or a transaction with others: it may be what fails the batch. */
  alone = false
  /** Number of its attempts in the store, as far as this process knows. */
  attempts = 0
  /** Nobody saw the end of its last attempt: it may have killed a process. */
  isSuspect = false
  /** Used by `Lanes` only: the lane of the task, whether it is queued, held or out. */
  queuedIn: Lane | undefined
  /** Used by `Lanes` only: taken, and neither finished nor put back. */
  isOut = false
  /** Used by `Slots` only. */
  hasSlot = false
  /** When its first attempt in this process failed. */
  firstFailureAt: EpochMs | undefined
  /** Since when every claim has found another owner busy with it. */
  busySince: MonotonicMs | undefined
  #joined: Delivery[] | undefined
  #key: Key | undefined

  constructor(delivery: Delivery, idempotencyKey: string, payloadHash: string, position?: StreamPosition) {
    this.idempotencyKey = idempotencyKey
    this.payloadHash = payloadHash
    this.lane = delivery.lane
    this.position = position
    this.first = delivery
    this.rival = undefined
    this.queuedIn = undefined
    this.firstFailureAt = undefined
    this.busySince = undefined
  }

  /** Computed when it is claimed: a task that waits in a lane should hold little memory. */
  get key(): Key {
    return (this.#key ??= shortened(this.idempotencyKey))
  }

  get digest(): Digest {
    return shortened(this.payloadHash)
  }

  get message(): Message {
    return this.first.message
  }

  /** Further deliveries of the same message, which arrived while it was under way. */
  get joined(): readonly Delivery[] {
    return this.#joined ?? NONE
  }

  join(delivery: Delivery): void {
    ;(this.#joined ??= []).push(delivery)
  }

  /**
   * The message of a delivery that can still be settled, if there is one: a source may dead-letter by the way it
   * settles.
   */
  get messageToSettle(): Message {
    if (this.first.standing() === 'current') return this.message
    return this.joined.find((delivery) => delivery.standing() === 'current')?.message ?? this.message
  }

  /** At least one delivery of it can still be settled. */
  get isCurrent(): boolean {
    if (this.first.standing() === 'current') return true
    return this.joined.some((delivery) => delivery.standing() === 'current')
  }

  /** No delivery of it is ours, and none will come back to this process on its own. */
  get isLost(): boolean {
    return this.first.standing() === 'lost' && this.joined.every((delivery) => delivery.standing() === 'lost')
  }
}

const NONE: readonly Delivery[] = []
