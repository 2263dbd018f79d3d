import type { Digest, Key } from '../core/record.ts'
import type { EpochMs, MonotonicMs } from '../core/units.ts'
import type { Delivery, StreamPosition } from '../ports/source.ts'
import type { Message } from '../ports/message.ts'
import { shortened } from '../digest.ts'
import type { Lane } from './lanes.ts'

/** One message in this process, with all its deliveries: single flight. It ends once, for all of them. */
export class Task {
  readonly idempotencyKey: string
  readonly payloadHash: string
  readonly lane: string | undefined
  /** Strategy `offsets` only: a source may have to make it up. */
  readonly position: StreamPosition | undefined
  /** The delivery it is about. */
  readonly first: Delivery
  /** Of `Flights` alone: of the same key with another payload, it waits for this one. */
  rival: Task | undefined
  /** Of `Flights` alone: it stays in its lane. */
  isBlocked = false
  /** Must not share a claim or a transaction with others: it may be what fails the batch. */
  alone = false
  /** How many of its attempts are counted in the store, as far as this process was told, or has counted itself. */
  attempts = 0
  /** Nobody saw the last of them end: it may be what killed a process. */
  isSuspect = false
  /** Of `Lanes` alone: the lane it is queued in, held in, or out of, where it shares one. */
  queuedIn: Lane | undefined
  /** Of `Lanes` alone: taken, and neither over nor put back. */
  isOut = false
  /** Of `Slots` alone. */
  hasSlot = false
  /** When its first attempt in this process failed. */
  firstFailureAt: EpochMs | undefined
  /** Since when each of its claims has found another owner busy with it. */
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

  /** Made when it is claimed: what waits in a lane holds as little as it can. */
  get key(): Key {
    return (this.#key ??= shortened(this.idempotencyKey))
  }

  get digest(): Digest {
    return shortened(this.payloadHash)
  }

  get message(): Message {
    return this.first.message
  }

  /** Further deliveries of the same message, that came while it was under way. */
  get joined(): readonly Delivery[] {
    return this.#joined ?? NONE
  }

  join(delivery: Delivery): void {
    ;(this.#joined ??= []).push(delivery)
  }

  /** Of a delivery that can still be settled, if there is one: a source may dead-letter by the way it settles that. */
  get messageToSettle(): Message {
    if (this.first.standing() === 'current') return this.message
    return this.joined.find((delivery) => delivery.standing() === 'current')?.message ?? this.message
  }

  /** Some delivery of it can still be settled. */
  get isCurrent(): boolean {
    if (this.first.standing() === 'current') return true
    return this.joined.some((delivery) => delivery.standing() === 'current')
  }

  /** No delivery of it is ours any more, nor will one come back here by itself. */
  get isLost(): boolean {
    return this.first.standing() === 'lost' && this.joined.every((delivery) => delivery.standing() === 'lost')
  }
}

const NONE: readonly Delivery[] = []
