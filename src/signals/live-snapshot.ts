import type { Cause, Key, Reason } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { Health } from '../ports/health.ts'
import type { Durations, StoreOperation } from '../ports/observer.ts'
import type { HandedBack, Outcome } from '../ports/outcome.ts'

/** What the consumers of one process did lately. A JSON object: it has no payloads, no headers and no raw IDs. */
export interface LiveSnapshot {
  readonly schemaVersion: 1
  /** Random text for each process. */
  readonly instance: string
  /** When the snapshot was made. */
  readonly at: EpochMs
  /** Since when events are counted. */
  readonly since: EpochMs
  /** In the order of their first event. */
  readonly consumers: readonly LiveConsumer[]
}

export interface LiveConsumer {
  readonly consumer: string
  /** `undefined` until it is started: `LiveSignals` was added to a consumer that never ran here. */
  readonly group: string | undefined
  readonly scope: string | undefined
  readonly retentionMs: DurationMs | undefined
  readonly leaseMs: DurationMs | undefined
  readonly startedAt: EpochMs | undefined
  /** Set when it was stopped. */
  readonly stoppedAt: EpochMs | undefined
  readonly health: Health | undefined
  /** Since when its store does not answer. */
  readonly storeDownSince: EpochMs | undefined
  /** The error of the store, for people. */
  readonly storeError: string | undefined
  /** Deliveries since `LiveSnapshot.since`. */
  readonly outcomes: Readonly<Record<Outcome, number>>
  /**
   * Other events since `LiveSnapshot.since`: `attempt-failed`, `in-doubt`, `lease-lost`, `stuck`, `publish-failed`, `result-not-kept`,
   * `policy-threw`, `beyond-retention`, `apart`, `purge-failed`, `invariant-broken`, `store-error` (calls of the store that failed),
   * `marks-late`, `stalled`, `holding`. Names without an event are missing.
   */
  readonly counts: Readonly<Record<string, number>>
  /** Dead letters and parked messages since `LiveSnapshot.since`, by reason. At most 50 reasons; the rest is `other`. */
  readonly reasons: Readonly<Record<string, number>>
  readonly series: LiveSeries
  /** The last 5 minutes. */
  readonly handler: LiveMeasure
  /** From the timestamp of a message to its end. */
  readonly endToEnd: LiveMeasure
  /** Calls of the store, by operation. */
  readonly store: Readonly<Partial<Record<StoreOperation, LiveMeasure>>>
  /** Since `LiveSnapshot.since`: how old the mark was that a duplicate met. Compare it with `retentionMs`. */
  readonly duplicateAge: LiveMeasure
  /**
   * The newest first: all that are remembered of the key that was asked for, or at most 50. Of these up to 20 are kept for what did not go
   * as usual, and of the failed attempts of one message only the newest is among them.
   */
  readonly recent: readonly LiveEntry[]
  /** What a person may ask about: the broker, the store, the purge. The newest first, at most 100. */
  readonly events: readonly LiveEvent[]
}

/** Quantiles are accurate to one bucket, 20 %. `undefined`: no value. */
export interface LiveMeasure {
  readonly count: number
  readonly p50Ms: DurationMs | undefined
  readonly p99Ms: DurationMs | undefined
  readonly maxMs: DurationMs | undefined
}

/** Columns of equal length, one entry for each step, the oldest first: the last hour. The last step is not over yet. */
export interface LiveSeries {
  readonly stepMs: DurationMs
  /** When each step begins. */
  readonly at: readonly EpochMs[]
  /** An outcome that did not happen in the last hour is missing. */
  readonly outcomes: Readonly<Partial<Record<Outcome, readonly number[]>>>
  /** Attempts that failed and are tried again in their lane: no delivery ended. */
  readonly attemptsFailed: readonly number[]
  readonly handlerP50Ms: readonly (DurationMs | null)[]
  readonly handlerP99Ms: readonly (DurationMs | null)[]
  readonly endToEndP99Ms: readonly (DurationMs | null)[]
}

/** Something that happened to one message. */
export type LiveEntry =
  | (LivePlace & {
      readonly type: 'delivery'
      /** When it ended; it arrived `durations.totalMs` before. */
      readonly at: EpochMs
      readonly outcome: Outcome
      readonly refused?: Outcome
      readonly why?: HandedBack
      readonly endedAs?: Outcome
      readonly copied?: true
      readonly reason?: Reason
      /** Why, for people. No payload, no raw ID. */
      readonly detail?: string
      readonly attempt?: number
      readonly fence?: number
      /** When its record was set aside or marked. */
      readonly since?: EpochMs
      readonly durations?: Durations
      readonly endToEndMs?: DurationMs
    })
  | (LivePlace & {
      readonly type:
        | 'attempt-failed'
        | 'put-off'
        | 'in-doubt'
        | 'lease-lost'
        | 'stuck'
        | 'publish-failed'
        | 'beyond-retention'
      readonly at: EpochMs
      readonly attempt?: number
      /** The error or the policy, for people. No payload, no raw ID. */
      readonly detail?: Cause
      readonly retryInMs?: DurationMs
    })

interface LivePlace {
  readonly consumer: string
  /** `undefined`: the message has no usable ID. */
  readonly key: Key | undefined
  readonly system: string
  readonly destination: string
  readonly origin: string
  readonly position: string
  readonly redelivered?: boolean
  /** When the broker or the producer says that it was sent. */
  readonly timestamp?: EpochMs
}

export interface LiveEvent {
  readonly at: EpochMs
  /** `rebuilt`, `commit-refused`, `store-down`, `store-up`, `purge-failed`, `invariant-broken`, `started`, `stopped`, ... */
  readonly event: string
  readonly detail?: string
  readonly isWarning?: true
}
