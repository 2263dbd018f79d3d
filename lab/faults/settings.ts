import type { ConsumerSpec } from '../kit/worker/spec.ts'

/** Settings of a worker module. */
export interface FaultSettings {
  /** Port of the effect provider, and the name of the log that it writes. */
  readonly provider: { readonly port: number; readonly log: string }
  readonly isKeyed: boolean
  /** Shift of `Date`. Timers are not shifted. */
  readonly clockShiftMs: number
  readonly planted?: Planted
}

/** What a cell may change. */
export interface WorkerTuning extends Pick<
  ConsumerSpec,
  'leaseMs' | 'retentionMs' | 'maxAttempts' | 'handlerTimeoutMs' | 'graceMs'
> {
  /** For a lease. */
  readonly concurrency?: number
  /** For an inbox. */
  readonly batchSize?: number
  /** For an inbox. */
  readonly transactions?: number
  /** Time for handlers to finish when the worker stops. @defaultValue 5000 */
  readonly stopDeadlineMs?: number
  /** How long the store may be down before the member makes room for others. @defaultValue that of the library */
  readonly leaveAfterMs?: number
  /** Each send carries its own name, so a resend has another payload. */
  readonly resendsDiffer?: boolean
  readonly clockShiftMs?: number
  /** The worker owns its client, and hands messages to a drop-in function of the library. */
  readonly isDropIn?: boolean
  readonly planted?: Planted
}

/** Bugs planted on purpose: a matrix that misses them proves nothing. */
export type Planted = 'ack-before-mark' | 'mark-skipped' | 'commit-highest' | 'reads-uncommitted'

export const LEASE_MS = 2_000
export const MAX_ATTEMPTS = 5
export const SESSION_MS = 3_000
/** Frees the row lock of a frozen worker. */
export const IDLE_IN_TRANSACTION_MS = 3_000
export const EFFECTS = 'effect'
/** A worker reports this when the signal of a handler aborts. */
export const ABORTED = 'aborted'
/** A worker reports this when a handler wants its process to be stopped. */
export const ASKS_TO_STOP = 'asks-to-stop'
/** A worker reports this when it runs a message that has an attempt already. */
export const LATER_ATTEMPT = 'later-attempt'

/** What a worker reports about a handler. */
export type HandlerReport =
  | { readonly f: 'hstart'; readonly id: string; readonly token: string }
  | { readonly f: 'hend'; readonly id: string; readonly token: string; readonly how: 'ok' | 'failed' | 'unknown' }
  | {
      readonly f: 'tell'
      readonly id: string
      readonly what: typeof ABORTED | typeof ASKS_TO_STOP | typeof LATER_ATTEMPT
    }
