import type { Reason } from '../core/record.ts'
import type { Message } from './message.ts'

/** One arrival of a message. A redelivery is another delivery of the same message. */
export interface Delivery {
  readonly message: Message
  /** Deliveries of one lane are handled in this order, one at a time. `undefined`: no order is asked for. */
  readonly lane: string | undefined
  /**
   * `stale`: its epoch is over, it will be delivered again here, and its running handler goes on and is joined.
   * `lost`: its partition or channel is gone; its running handler is aborted. Neither can be settled.
   */
  standing(): Standing
  /** Tells the broker, sooner or later, that this delivery is finished. `false`: refused, its epoch or generation is over. */
  settle(): boolean
}

export type Standing = 'current' | 'stale' | 'lost'

/** What a source reports to. Its methods never throw. */
export interface Intake {
  /** Takes deliveries over, in this order. */
  deliver(deliveries: readonly Delivery[]): void
  /** The standing of earlier deliveries may have changed: partitions revoked, channel closed. */
  standingChanged(): void
  /** For observers and logs. */
  report(event: SourceEvent): void
}

export type SourceEvent =
  /** The broker was told: so many deliveries acked, or below a committed offset. */
  | { readonly type: 'settles'; readonly count: number }
  /** `commit-refused`, `connection-lost`, `rebuilt`, `offset-reset` and the like. */
  | { readonly type: 'source'; readonly event: string; readonly detail?: string }

/** A consumer of one broker. */
export interface Source {
  readonly system: Message['system']
  /** Consumer group or queue: the part of the scope that the source knows. */
  readonly group: string
  /** Resolves when it consumes. Rejects when it cannot begin; later it comes back by itself, for ever. */
  open(intake: Intake): Promise<void>
  /** Stop delivering, for now: too much is in flight, or the store is down. Membership is kept. May be called twice. */
  pause(): void
  resume(): void
  /** No delivery comes after this; those that run may still be settled. */
  stopIntake(): Promise<void>
  /** Flushes settles, then leaves. What was not settled is delivered again, to somebody. */
  close(): Promise<void>
  health(): SourceHealth
}

export interface SourceHealth {
  readonly ready: boolean
  /** Short, for people: `rebalancing`, `reconnecting, attempt 3`. */
  readonly detail: string
}

/** Where dead letters go. */
export interface Publisher {
  /** Resolves when the broker has confirmed the copy, durably. Rejects otherwise; the caller tries again. */
  deadLetter(letter: DeadLetter): Promise<void>
}

export interface DeadLetter {
  readonly message: Message
  /** A `DeadLetterReason`, or what a store of your own wrote. */
  readonly reason: Reason
  /** The effect may have happened, or may still: it waits for a person. */
  readonly parked: boolean
  /** At most 1 KB of text; never a payload, never a raw ID. */
  readonly detail: string
  readonly errorClass: string | undefined
  readonly attempts: number
  readonly consumer: string
  readonly group: string
}
