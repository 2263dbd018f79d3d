import type { ConsumerSpec } from '../kit/worker/spec.ts'

/** For the module of a worker. */
export interface FaultSettings {
  /** Of the provider of effects, and under which name it logs them. */
  readonly provider: { readonly port: number; readonly log: string }
  readonly isKeyed: boolean
  /** Its calendar is wrong by so much; its timers are not. */
  readonly clockShiftMs: number
  readonly planted?: Planted
}

/** What a cell may ask for. */
export interface WorkerTuning extends Pick<
  ConsumerSpec,
  'leaseMs' | 'retentionMs' | 'maxAttempts' | 'handlerTimeoutMs' | 'graceMs'
> {
  /** Of a lease. */
  readonly concurrency?: number
  /** Of an inbox. */
  readonly batchSize?: number
  /** Each send of a message carries its own name. */
  readonly resendsDiffer?: boolean
  readonly clockShiftMs?: number
  /** A client of its own, with a function of this library for its messages. */
  readonly isDropIn?: boolean
  readonly planted?: Planted
}

/** Wrong on purpose: a matrix that does not find these shows nothing. */
export type Planted = 'ack-before-mark' | 'mark-skipped' | 'commit-highest'

export const LEASE_MS = 2_000
export const MAX_ATTEMPTS = 5
export const SESSION_MS = 3_000
/** Frees the row that a frozen worker holds. */
export const IDLE_IN_TRANSACTION_MS = 3_000
export const EFFECTS = 'effect'
/** A worker tells it when the signal of a handler aborts. */
export const ABORTED = 'aborted'

/** What a worker tells of a handler. */
export type HandlerReport =
  | { readonly f: 'hstart'; readonly id: string; readonly token: string }
  | { readonly f: 'hend'; readonly id: string; readonly token: string; readonly how: 'ok' | 'failed' | 'unknown' }
  | { readonly f: 'tell'; readonly id: string; readonly what: typeof ABORTED }
