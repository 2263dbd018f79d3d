import type { Work } from '../core/progress.ts'
import type { StoredPosition } from '../core/position.ts'
import type { Key, Reason, Result } from '../core/record.ts'
import type { RedeliveryWindow } from '../core/retention.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { BrokerSystem, Message } from './message.ts'
import type { Outcome } from './outcome.ts'

/** One arrival of a message. A redelivery is another delivery of the same message. */
export interface Delivery {
  readonly message: Message
  /**
   * Deliveries of one lane are handled one at a time, in order. `undefined`: no order is required. Numbers cost less than
   * texts.
   */
  readonly lane: string | number | undefined
  /** The position in its stream, for sources with `seeksPositions`. */
  readonly position?: StreamPosition | undefined
  /**
   * Runs a function in the async context that belongs to this delivery, such as the span that an instrumentation of the
   * client made for it. Missing: it has none, and the context in which it is delivered says nothing about it.
   */
  readonly within?: (<T>(work: () => T) => T) | undefined
  /**
   * `stale`: its epoch is over; the message will be delivered again to this process, and joins the running handler.
   * `lost`: its partition or channel is gone; under a lease the running handler is aborted, a transaction goes on.
   * Neither can be settled.
   */
  standing(): Standing
  /**
   * Tells the broker, now or later, that this delivery is finished. `false`: refused, because its epoch or generation
   * is over.
   */
  settle(): boolean
  /**
   * Returns the unhandled message to the broker at once, so that another consumer gets it before this process leaves.
   * Missing if the broker redelivers unsettled messages anyway. `false`: refused, as for `settle`.
   */
  handBack?(): boolean
  /** Called once, after `settle()` or `handBack()` if one of them is called. Must not throw. */
  onEnd?(end: DeliveryEnd): void
}

/** How a delivery ended. */
export interface DeliveryEnd {
  readonly outcome: Outcome
  /** How its message ended: a delivery may have joined another one, and the broker may have refused to settle it. */
  readonly endedAs: Exclude<Outcome, 'joined' | 'settle-refused'>
  /** The confirmed copy that replaces the message. */
  readonly copy?: DeadLetter | RetryCopy | undefined
  readonly reason?: Reason | undefined
  readonly result?: Result | undefined
}

export type Standing = 'current' | 'stale' | 'lost'

/** A position in an ordered stream, which is a partition of a topic. */
export interface StreamPosition {
  /** `topic/partition`. */
  readonly stream: string
  /** Grows from message to message; may have gaps. */
  readonly offset: bigint
  /**
   * The offset after the previous delivery, or the stored position at which reading began: the stream has no messages
   * from here up to `offset`. `undefined`: the stream has no stored position and begins with this delivery.
   */
  readonly follows?: bigint | undefined
  /** The timestamp of the broker, see `StoredPosition.timestamp`. */
  readonly timestamp?: EpochMs | undefined
}

/** The limits of the pipeline. */
export interface Capacity {
  /** The most deliveries of one partition or queue that are taken and not ended. */
  readonly maxInFlight: number
  /** Handlers that can run at once. With fewer deliveries some handlers are idle. */
  readonly handlers: number
  /**
   * Messages that can be claimed at once. Deliveries beyond that wait. The batches of an inbox have the largest number.
   */
  readonly claims: number
  /** How long the claim of a dead process holds its message. */
  readonly leaseMs: DurationMs
  /** The longest run of a handler, including its grace period. The broker must not redeliver a message before that. */
  readonly longestRunMs: DurationMs
  /** How often a message is tried before it is dead-lettered. A broker that drops it earlier loses it. */
  readonly maxAttempts: number
  /**
   * With the option `limit`: how many handlers may begin in a second, at least. Deliveries beyond it wait unsettled.
   * `undefined`: any number.
   */
  readonly perSecond?: number | undefined
}

/** Receives the deliveries and events of a source. Its methods never throw. */
export interface Intake {
  readonly capacity: Capacity
  /**
   * Strategy `offsets` only. The source delivers each stream in order from its stored position, ignores the committed
   * offsets of the broker, and delivers nothing of a held stream.
   */
  readonly storedPositions?: StoredPositions | undefined
  /** Takes deliveries over, in this order. */
  deliver(deliveries: readonly Delivery[]): void
  /**
   * It has looked at deliveries for as long as one turn of the event loop bears. More would wait: a source that has many
   * delivers them in the next turn.
   * @defaultValue false
   */
  readonly isTurnOver?: boolean
  /** The standing of earlier deliveries may have changed: partitions were revoked or a channel closed. */
  standingChanged(): void
  /** Passes an event to observers and logs. */
  report(event: SourceEvent): void
}

/**
 * The stored positions of one consumer. Each method rejects while the store does not answer, and may be called again.
 */
export interface StoredPositions {
  /** The positions of the streams that have one. */
  next(streams: readonly string[]): Promise<ReadonlyMap<string, StoredPosition>>
  /**
   * Holds a stream whose log may not be the one that `next` was stored for. Nothing of the stream is granted to anybody
   * until a person decides or `prove` is called. Changes nothing if the stored position is no longer `next`.
   */
  hold(stream: string, next: bigint, why: Reason): Promise<void>
  /** The log still has the message right before `next`, so it is the same log. Ends a hold of the stream at `next`. */
  prove(stream: string, next: bigint): Promise<void>
}

export type SourceEvent =
  /** The source settled `count` deliveries: they are acked, or below a committed offset. */
  | {
      readonly type: 'settles'
      readonly count: number
      /** How long the commit took. `undefined`: the broker does not answer, as to an ack of RabbitMQ. */
      readonly durationMs?: DurationMs | undefined
    }
  /** `event` is `commit-refused`, `connection-lost`, `rebuilt`, `offset-reset` and the like. */
  | {
      readonly type: 'source'
      readonly event: string
      readonly detail?: string
      /** Logged as `warn`, for a person to see. Events of normal operation omit it and are logged as `info`. */
      readonly isWarning?: true
    }
  /** A settle was refused because it must not be sent. Its message is delivered again. */
  | { readonly type: 'invariant-broken'; readonly error: Error }

/** A consumer of one broker. */
export interface Source {
  readonly system: BrokerSystem
  /** Consumer group or queue: the part of the scope that the source knows. */
  readonly group: string
  /** Its topics or its queue, as they are called now. With it a wrong `scope.topics` of the consumer is refused. */
  readonly origins?: readonly string[]
  /**
   * The source keeps each of its partitions within the capacity on its own. Without it the pipeline pauses the source
   * as a whole.
   */
  readonly boundsItself?: true
  /** Its deliveries have positions, and it begins at `Intake.storedPositions`. Required by strategy `offsets`. */
  readonly seeksPositions?: true
  /**
   * Resolves when the source consumes. Rejects if it cannot begin; after that it reconnects on its own, for ever.
   * `close()` may be called before it has resolved: then it rejects, delivers nothing and leaves nothing behind. The
   * user's `ready()` resolves with `stopped` then. Reject with StoppedError, because any other error becomes an event.
   */
  open(intake: Intake): Promise<void>
  /**
   * Stops delivering for now, because too much is in flight or the store is down. Membership is kept. May be called
   * twice.
   */
  pause(): void
  resume(): void
  /**
   * How long the store may be down before the consumer calls `leave()`, in milliseconds. @defaultValue `never`
   */
  readonly leaveAfterMs?: DurationMs | 'never' | undefined
  /**
   * Leaves the group or queue until `comeBack()`, so that others get its messages: settles what can be settled, and ends
   * the standing of all deliveries. The source stays open and is not ready; `why` becomes its `detail`. Never throws.
   */
  leave?(why: string): void
  /** Joins again after `leave()`. Never throws. */
  comeBack?(): void
  /**
   * With `seeksPositions`: the stored position of this stream is behind its deliveries. Reads the stream again from the
   * stored position.
   */
  rewind?(stream: string): void
  /** No delivery comes after it resolves. Running deliveries can still be settled. */
  stopIntake(): Promise<void>
  /** Flushes settles, then leaves. The broker redelivers the unsettled messages to some consumer. */
  close(): Promise<void>
  health(): SourceHealth
  /**
   * Partitions with messages that the broker has and that are not fetched, although nothing is in flight and nothing is
   * paused. Asked every few seconds: if one stays so for long, it is stalled.
   */
  unfetched?(): Iterable<Work>
  /**
   * How many messages wait at the broker for this consumer, in all of its processes together. For gauges: asked at most
   * every 15 s, and rejects if the broker does not answer.
   */
  backlog?(): Promise<readonly Backlog[]>
  /**
   * For how long the broker can redeliver a handled message, if the source can tell; `undefined` if it cannot. Called
   * once, after `open()`. A rejection is ignored.
   */
  redeliveryWindowMs?(): Promise<RedeliveryWindow | undefined>
}

/** What waits in one topic or queue. */
export interface Backlog {
  readonly destination: string
  /** Kafka: from the committed offsets to the ends. RabbitMQ: ready, so without those that a consumer has. */
  readonly messages: number
}

export interface SourceHealth {
  readonly ready: boolean
  /** Short, for people: `rebalancing`, `reconnecting, attempt 3`. */
  readonly detail: string
  /** One entry for each assigned partition. */
  readonly partitions?: readonly PartitionHealth[]
  /** How often each `source` event happened since the start, by its name. */
  readonly counts?: Readonly<Record<string, number>>
}

/** Progress of one partition. Offsets are text, because they are 64 bits wide. */
export interface PartitionHealth {
  /** `topic/partition` */
  readonly name: string
  /** The lowest unfinished offset; `undefined` before the first batch. */
  readonly watermark: string | undefined
  readonly committed: string | undefined
  /** Messages from the watermark to the last known end of the partition. */
  readonly lag: number | undefined
  /** The same, counted from the committed offset: the lag that the broker's own tools show. */
  readonly committedLag: number | undefined
  /** How long the watermark has been at an unfinished message, in milliseconds; 0 if everything is finished. */
  readonly watermarkAgeMs: DurationMs
  /** Deliveries taken and not finished. */
  readonly inFlight: number
  readonly bytesInFlight: number
  /** Why nothing is fetched: `full`, `consumer` (all of it: the store is down, or a person has paused it), `not-due`, ... Empty if it is not paused. */
  readonly paused: readonly string[]
}

/** Publishes copies that replace the original message: dead letters, and messages that wait in a retry place. */
export interface Publisher {
  /** Resolves when the broker has confirmed the copy, durably. Rejects otherwise; the caller tries again. */
  deadLetter(deadLetter: DeadLetter): Promise<void>
  /** How long a message that has failed `attempts` times waits in a retry place. `undefined`: it waits in its lane. */
  retryDelayMs?(attempts: number): DurationMs | undefined
  /**
   * As `deadLetter`, to the retry place of `copy.attempts`. The copy has the origin and the payload bytes of the
   * message.
   */
  retryLater?(copy: RetryCopy): Promise<void>
  /**
   * With `retryLater`: a message that another owner has had for this long also goes to a retry place; no attempt is
   * spent. `undefined`: it waits in its lane.
   */
  readonly busyWaitMs?: DurationMs | undefined
  /**
   * With `retryLater`: a message whose handler asks for a later time (`RetryLaterError`) waits in its lane for at most so
   * long, and beyond it in a retry place. @defaultValue `busyWaitMs`
   */
  readonly laneWaitMs?: DurationMs | undefined
}

/** A message that was not handled, and why. */
export interface MessageCopy {
  readonly message: Message
  /** The key in logs, lists and the command-line tool; `undefined` if the message has no usable ID. */
  readonly key?: Key | undefined
  /** At most 1 KB of text. Contains no payload and no raw ID. */
  readonly detail: string
  readonly errorClass: string | undefined
  /** Starts of its handler, including those that ended with their process. */
  readonly attempts: number
  /** When the first attempt failed, if known. `undefined`: just now, or it was never handled. */
  readonly firstFailureAt?: EpochMs | undefined
  readonly consumer: string
  readonly group: string
}

export interface DeadLetter extends MessageCopy {
  /** A `DeadLetterReason`, or the reason that a custom store wrote. */
  readonly reason: Reason
  /** The effect may have happened, or may still happen: a person must decide. */
  readonly parked: boolean
  /**
   * When its record was set aside; the same in every further letter. `undefined`: there is no such record, or it has no
   * time.
   */
  readonly setAsideAt?: EpochMs | undefined
  /** An earlier delivery was set aside. This one did not run, and its dead letter repeats the record. */
  readonly isRepeated?: true | undefined
}

export interface RetryCopy extends MessageCopy {
  /** `busy`: another owner has it; `attempts` is 0 then, and nothing failed. */
  readonly why: 'failed' | 'busy'
  readonly delayMs: DurationMs
}
