import type { StoredPosition } from '../core/position.ts'
import type { Key, Reason } from '../core/record.ts'
import type { RedeliveryWindow } from '../core/retention.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Message } from './message.ts'

/** One arrival of a message. A redelivery is another delivery of the same message. */
export interface Delivery {
  readonly message: Message
  /** Deliveries of one lane are handled in this order, one at a time. `undefined`: no order is asked for. */
  readonly lane: string | undefined
  /** Where in its stream, for sources that `seeksPositions`. */
  readonly position?: StreamPosition | undefined
  /**
   * `stale`: its epoch is over, it will be delivered again here, and its running handler goes on and is joined.
   * `lost`: its partition or channel is gone; under a lease its running handler is aborted, a transaction goes on. Neither can be settled.
   */
  standing(): Standing
  /** Tells the broker, sooner or later, that this delivery is finished. `false`: refused, its epoch or generation is over. */
  settle(): boolean
  /**
   * Gives it back now, unhandled, so that somebody gets it before this process leaves. Missing where a broker keeps what is
   * not settled. `false`: refused, as for `settle`.
   */
  handBack?(): boolean
}

export type Standing = 'current' | 'stale' | 'lost'

/** A place in an ordered stream: a partition of a topic. */
export interface StreamPosition {
  /** `topic/partition`. */
  readonly stream: string
  /** Grows from message to message; may have gaps. */
  readonly offset: bigint
  /**
   * Right behind the delivery before it, or the stored position that reading began at: from here up to `offset` the stream
   * holds nothing. `undefined`: nothing was stored of the stream, and it begins with this delivery.
   */
  readonly follows?: bigint | undefined
  /** As the broker tells it: see `StoredPosition.timestamp`. */
  readonly timestamp?: EpochMs | undefined
}

/** What the pipeline can hold and do at once. */
export interface Capacity {
  /** Deliveries of one partition or queue that are taken and not ended, at most. */
  readonly maxInFlight: number
  /** Handlers that can run at once: with fewer deliveries some stay idle. */
  readonly handlers: number
  /** Messages that can be claimed at once, in batches of an inbox most of all: deliveries beyond that wait. */
  readonly claims: number
  /** How long a claim of a process that died holds its message. */
  readonly leaseMs: DurationMs
  /** A handler may run so long, the time to end after its abort included: a broker must not take its message away before. */
  readonly longestRunMs: DurationMs
}

/** What a source reports to. Its methods never throw. */
export interface Intake {
  readonly capacity: Capacity
  /**
   * Strategy `offsets` only. The source delivers a stream in order, from its stored position, whatever the broker has committed,
   * and nothing of a stream that is held.
   */
  readonly storedPositions?: StoredPositions | undefined
  /** Takes deliveries over, in this order. */
  deliver(deliveries: readonly Delivery[]): void
  /** The standing of earlier deliveries may have changed: partitions revoked, channel closed. */
  standingChanged(): void
  /** For observers and logs. */
  report(event: SourceEvent): void
}

/** The positions of one consumer. Each method rejects while the store does not answer, and may be called again. */
export interface StoredPositions {
  /** Of each of these streams that has one. */
  next(streams: readonly string[]): Promise<ReadonlyMap<string, StoredPosition>>
  /**
   * The log is not the one that `next` was stored of, or may not be: from here on nothing of the stream is granted to anybody,
   * until a person decides or the log is proven to be the same. Changes nothing where the stream is elsewhere by now.
   */
  hold(stream: string, next: bigint, why: Reason): Promise<void>
  /** The message right before `next` was found in the log: it is the same. Ends a hold of the stream at `next`. */
  prove(stream: string, next: bigint): Promise<void>
}

export type SourceEvent =
  /** The broker was told: so many deliveries acked, or below a committed offset. */
  | { readonly type: 'settles'; readonly count: number }
  /** `commit-refused`, `connection-lost`, `rebuilt`, `offset-reset` and the like. */
  | {
      readonly type: 'source'
      readonly event: string
      readonly detail?: string
      /** For a person to see: logged as `warn`. Left out of what belongs to a normal day, which is logged as `info`. */
      readonly isWarning?: true
    }
  /** A settle was refused that must not be sent. What it was for is delivered again. */
  | { readonly type: 'invariant-broken'; readonly error: Error }

/** A consumer of one broker. */
export interface Source {
  readonly system: Message['system']
  /** Consumer group or queue: the part of the scope that the source knows. */
  readonly group: string
  /** It keeps each of its partitions within the capacity by itself; otherwise the pipeline pauses it as a whole. */
  readonly boundsItself?: true
  /** Its deliveries have positions, and it begins at `Intake.storedPositions`: strategy `offsets` can be used. */
  readonly seeksPositions?: true
  /**
   * Resolves when it consumes. Rejects when it cannot begin; later it comes back by itself, for ever. `close()` may come before it
   * has resolved: then it rejects, and nothing is delivered or left behind.
   */
  open(intake: Intake): Promise<void>
  /** Stop delivering, for now: too much is in flight, or the store is down. Membership is kept. May be called twice. */
  pause(): void
  resume(): void
  /** With `seeksPositions`: what is stored of a stream lies before what was delivered. It is read again, from there. */
  rewind?(stream: string): void
  /** No delivery comes after this; those that run may still be settled. */
  stopIntake(): Promise<void>
  /** Flushes settles, then leaves. What was not settled is delivered again, to somebody. */
  close(): Promise<void>
  health(): SourceHealth
  /**
   * For how long the broker can deliver a message again that was handled, as far as it can be told; `undefined`: it cannot. Asked once,
   * after `open()`; what it rejects with is left alone.
   */
  redeliveryWindowMs?(): Promise<RedeliveryWindow | undefined>
}

export interface SourceHealth {
  readonly ready: boolean
  /** Short, for people: `rebalancing`, `reconnecting, attempt 3`. */
  readonly detail: string
  /** One entry for each assigned partition. */
  readonly partitions?: readonly PartitionHealth[]
  /** How often something happened since the start, by the name of its `source` event. */
  readonly counts?: Readonly<Record<string, number>>
}

/** How far one partition is. Offsets as text: they are 64 bits wide. */
export interface PartitionHealth {
  /** `topic/partition` */
  readonly name: string
  /** The lowest unfinished offset; `undefined` before the first batch. */
  readonly watermark: string | undefined
  readonly committed: string | undefined
  /** Messages from the watermark to the end of the partition, as far as it was seen. */
  readonly lag: number | undefined
  /** The same from the committed offset: what the broker's own tools show. */
  readonly committedLag: number | undefined
  /** How long the watermark has stood at an unfinished message; 0 where all is finished. */
  readonly watermarkAgeMs: DurationMs
  /** Deliveries taken and not finished. */
  readonly inFlight: number
  readonly bytesInFlight: number
  /** Why nothing is fetched, if so: `full`, `store`, `not-due`, ... */
  readonly paused: readonly string[]
}

/** Where copies go that replace the original: dead letters, and messages that wait elsewhere for their next attempt. */
export interface Publisher {
  /** Resolves when the broker has confirmed the copy, durably. Rejects otherwise; the caller tries again. */
  deadLetter(letter: DeadLetter): Promise<void>
  /** How long a message that has failed `attempts` times waits on a retry place; `undefined`: it waits in its lane. */
  retryDelayMs?(attempts: number): DurationMs | undefined
  /** As `deadLetter`, to the retry place of `letter.attempts`. The copy carries its origin, and the same payload bytes. */
  retryLater?(letter: RetryLetter): Promise<void>
  /**
   * With `retryLater`: a message that another owner has been busy with for so long goes there too; no attempt is spent.
   * `undefined`: it waits in its lane.
   */
  readonly busyWaitMs?: DurationMs | undefined
}

/** A message that was not handled, and why. */
export interface Letter {
  readonly message: Message
  /** As logs, lists and the command-line tool name it; `undefined`: it has no usable ID. */
  readonly key?: Key | undefined
  /** At most 1 KB of text; never a payload, never a raw ID. */
  readonly detail: string
  readonly errorClass: string | undefined
  /** Starts of its handler, those that died with their process included. */
  readonly attempts: number
  /** As far as it is known; `undefined`: just now, or never handled. */
  readonly firstFailureAt?: EpochMs | undefined
  readonly consumer: string
  readonly group: string
}

export interface DeadLetter extends Letter {
  /** A `DeadLetterReason`, or what a store of your own wrote. */
  readonly reason: Reason
  /** The effect may have happened, or may still: it waits for a person. */
  readonly parked: boolean
  /** When its record was set aside. The same in each further letter; `undefined`: there is no such record, or it does not say. */
  readonly setAsideAt?: EpochMs | undefined
  /** An earlier delivery was set aside: this one was not run, and its letter tells what the record says. */
  readonly isRepeated?: true | undefined
}

export interface RetryLetter extends Letter {
  /** `busy`: another owner has it; `attempts` is 0 then, and nothing failed. */
  readonly why: 'failed' | 'busy'
  readonly delayMs: DurationMs
}
