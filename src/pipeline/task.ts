import type { Digest, Key } from '../core/record.ts'
import type { EpochMs, MonotonicMs } from '../core/units.ts'
import type { Delivery, StreamPosition } from '../ports/source.ts'
import type { Message } from '../ports/message.ts'
import type { Identity } from '../digest.ts'
import type { Lane } from './lanes.ts'

/** One message in this process, with all its deliveries: single flight. It ends once, for all of them. */
export class Task {
  readonly key: Key
  readonly idempotencyKey: string
  readonly digest: Digest
  readonly lane: string | undefined
  /** Strategy `offsets` only: a source may have to make it up. */
  readonly position: StreamPosition | undefined
  /** The first is the one it is about; the others joined. */
  readonly deliveries: Delivery[]
  /** Of `Flights` alone: of the same key with another payload, it waits for this one. */
  rival: Task | undefined
  /** Of `Flights` alone: it stays in its lane. */
  isBlocked = false
  /** Must not share a claim or a transaction with others: it may be what kills the process or fails the batch. */
  alone = false
  /** Of `Lanes` alone: the lane it is queued in, held in, or out of. */
  queuedIn: Lane | undefined
  /** When its first attempt in this process failed. */
  firstFailureAt: EpochMs | undefined
  /** Since when each of its claims has found another owner busy with it. */
  busySince: MonotonicMs | undefined

  constructor(delivery: Delivery, identity: Identity, digest: Digest, position?: StreamPosition) {
    this.key = identity.key
    this.idempotencyKey = identity.idempotencyKey
    this.digest = digest
    this.lane = delivery.lane
    this.position = position
    this.deliveries = [delivery]
  }

  get message(): Message {
    const [first] = this.deliveries
    if (first === undefined) throw new TypeError('Task without a delivery (task.message)')
    return first.message
  }

  /** Of a delivery that can still be settled, if there is one: a source may dead-letter by the way it settles that. */
  get messageToSettle(): Message {
    return this.deliveries.find((delivery) => delivery.standing() === 'current')?.message ?? this.message
  }

  /** Some delivery of it can still be settled. */
  get isCurrent(): boolean {
    return this.deliveries.some((delivery) => delivery.standing() === 'current')
  }

  /** No delivery of it is ours any more, nor will one come back here by itself. */
  get isLost(): boolean {
    return this.deliveries.every((delivery) => delivery.standing() === 'lost')
  }
}
