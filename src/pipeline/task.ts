import type { Digest, Key } from '../core/record.ts'
import type { EpochMs, MonotonicMs } from '../core/units.ts'
import type { Delivery, StreamPosition } from '../ports/source.ts'
import type { Message } from '../ports/message.ts'
import { shortened } from '../identity/digest.ts'
import type { RunTrace } from '../ports/tracing.ts'
import { Times } from './times.ts'

/**
 * States of a task.
 *
 *   arrived ──> queued ──> taken <──> claimed ──> ending ──> ended
 *      └──> blocked ──┘ ^                            │
 *                       └────────────────────────────┘
 *
 * A task may be dropped in any state. A handler that still runs after that ends nothing: no way leads out of `ended`.
 */
export type TaskState =
  /** Identified, in no lane yet. */
  | 'arrived'
  /** Waits in its lane until another payload of its key has ended. */
  | 'blocked'
  /** Waits in its lane, or is ready. */
  | 'queued'
  /** Taken from its lane. */
  | 'taken'
  /** It is claimed or being claimed, and counts as that (`Executor.claimed`). */
  | 'claimed'
  /** Its ending is carried out, which may take as long as a broker needs to confirm a copy. */
  | 'ending'
  | 'ended'

/** A switch, because five moves of each message would look things up in a table. */
function leadsTo(from: TaskState, to: TaskState): boolean {
  switch (to) {
    case 'arrived':
      return false
    case 'blocked':
      return from === 'arrived'
    case 'queued':
      return from === 'arrived' || from === 'blocked' || from === 'ending'
    case 'taken':
      return from === 'queued' || from === 'claimed'
    case 'claimed':
      return from === 'taken'
    case 'ending':
      return from !== 'ending' && from !== 'ended'
    case 'ended':
      return from !== 'ended'
  }
}

/** What this process knows of earlier attempts at a message. */
export type History =
  | { readonly kind: 'untried'; readonly attempts: 0 }
  /** Its last attempt ended in this process. */
  | { readonly kind: 'tried'; readonly attempts: number }
  /** Nobody saw the end of its last attempt: it may have killed a process. */
  | { readonly kind: 'suspect'; readonly attempts: number }

/** A small integer: V8 keeps it in the task itself. */
const WITH_ALL = 2 ** 31 - 1

const UNTRIED: History = { kind: 'untried', attempts: 0 }

/** A further key of a message, and the hash that payloads under it are compared by. */
export interface OtherIdentity {
  readonly idempotencyKey: string
  readonly payloadHash: string
}

const NO_OTHERS: readonly OtherIdentity[] = []

/** The serial queue of one ordering key, or of one task without a key that has to wait. */
export interface Lane {
  readonly name: Delivery['lane']
  /** Usually of length one. Built by assignment, because `push` on an empty array reserves room for many. */
  queue: Task[]
  /** Tasks taken from the lane and not yet finished or put back. The lane gives no task while there are any. */
  out: number
  /** Its head may be taken. */
  isReady: boolean
  /** Set while the lane waits for a retry or for another owner. */
  cancelHold: (() => void) | undefined
}

/** One message in this process, with all its deliveries (single flight). It ends once, for all of them. */
export class Task extends Times {
  readonly idempotencyKey: string
  readonly payloadHash: string
  readonly lane: Delivery['lane']
  /** Strategy `offsets` only. */
  readonly position: StreamPosition | undefined
  /** The delivery that created the task. */
  readonly first: Delivery
  /** Its further identities. */
  readonly others: readonly OtherIdentity[]
  /** Used by `SingleFlight` only: the number of its keys that an earlier task has. */
  waitsFor = 0
  /** Used by `SingleFlight` only: another task is, or was, under one of its keys. */
  sharesKey = false
  /** The most tasks that share a batch with it, itself included. It shrinks while a batch fails that it is part of. */
  company: number = WITH_ALL
  /** Used by `Lanes` only: the lane of the task, while it is queued or out. */
  queuedIn: Lane | undefined
  /** Used by `Lanes` only: its place among all tasks. */
  order = 0
  /** When its first attempt in this process failed. */
  firstFailureAt: EpochMs | undefined
  /** Since when every claim has found another owner busy with it. */
  busySince: MonotonicMs | undefined
  /** Why its last run skipped it, if it did. */
  skipped: string | undefined
  /** What `Tracing.ambient` said of its first delivery. */
  ambient: unknown
  /** The trace of its last run, if the consumer is traced. */
  trace: RunTrace | undefined
  #state: TaskState = 'arrived'
  #history = UNTRIED
  #joined: Delivery[] | undefined
  #key: Key | undefined

  constructor(
    delivery: Delivery,
    idempotencyKey: string,
    payloadHash: string,
    {
      position,
      others = NO_OTHERS,
    }: { readonly position?: StreamPosition; readonly others?: readonly OtherIdentity[] } = {},
  ) {
    super()
    this.idempotencyKey = idempotencyKey
    this.payloadHash = payloadHash
    this.lane = delivery.lane
    this.position = position
    this.first = delivery
    this.others = others
    this.queuedIn = undefined
    this.firstFailureAt = undefined
    this.busySince = undefined
    this.skipped = undefined
    this.ambient = undefined
    this.trace = undefined
  }

  get state(): TaskState {
    return this.#state
  }

  /** It must not share a claim or a transaction with others: it may be what fails the batch. */
  get alone(): boolean {
    return this.company <= 1
  }

  /** Returns `true` if that is fewer than before. */
  limitCompany(most: number): boolean {
    if (most >= this.company) return false
    this.company = most
    return true
  }

  /** Returns `false`, and changes nothing, if no way leads there. */
  move(to: TaskState): boolean {
    if (!leadsTo(this.#state, to)) return false
    this.#state = to
    return true
  }

  get history(): History {
    return this.#history
  }

  /** Notes the number of its attempts in the store, and whether this process saw the last of them end. */
  tried(attempts: number, hasEndedHere: boolean): void {
    this.#history = attempts === 0 ? UNTRIED : { kind: hasEndedHere ? 'tried' : 'suspect', attempts }
  }

  /** Computed when it is claimed: a task that waits in a lane should hold little memory. */
  get key(): Key {
    return (this.#key ??= shortened(this.idempotencyKey))
  }

  get digest(): Digest {
    return shortened(this.payloadHash)
  }

  /** All its keys, to be claimed and marked together. */
  get keys(): readonly Key[] {
    return [this.key, ...this.others.map(({ idempotencyKey }) => shortened(idempotencyKey))]
  }

  /** The other message has no key that this one lacks, and the same payload under each. */
  covers(other: Task): boolean {
    if (!this.#has(other.idempotencyKey, other.payloadHash)) return false
    return other.others === NO_OTHERS || other.others.every((one) => this.#has(one.idempotencyKey, one.payloadHash))
  }

  #has(key: string, hash: string): boolean {
    if (key === this.idempotencyKey) return hash === this.payloadHash
    return this.others.some(({ idempotencyKey, payloadHash }) => key === idempotencyKey && hash === payloadHash)
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
