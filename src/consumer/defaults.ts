import type { Backoff } from '../core/backoff.ts'
import type { DurationMs } from '../core/units.ts'

const DAY_MS = 86_400_000

/** A third of it, between two renewals, is time for a round trip to the store and for a busy event loop. */
export const LEAST_LEASE_MS: DurationMs = 100
/** A later end of a record is beyond what databases keep as a time. */
export const LONGEST_RETENTION_MS: DurationMs = 100 * 365 * 86_400_000

/** The only place that defines defaults. */
export const DEFAULTS: {
  readonly concurrency: number
  readonly transactions: number
  readonly batchSize: number
  readonly handleBatchSize: number
  /** Lower bound of the default of `maxInFlight`, which is twice the number of messages that can be claimed at once. */
  readonly leastInFlight: number
  readonly leaseMs: DurationMs
  readonly retentionMs: DurationMs
  readonly handlerTimeoutMs: DurationMs
  readonly graceMs: DurationMs
  readonly stopDeadlineMs: DurationMs
  /** How long a store may be down before its source leaves the group or queue. */
  readonly leaveAfterMs: DurationMs
  readonly maxAttempts: number
  readonly maxResultBytes: number
  readonly backoff: Backoff
  readonly onConflict: 'dead-letter'
  readonly onInDoubt: 'rerun' | 'park'
  readonly onBeyondRetention: 'run' | 'park' | 'skip'
  readonly purge: 'background' | 'never'
  readonly mode: 'enforce' | 'observe'
  readonly onStoreDown: 'pause' | 'run-unprotected'
  readonly hold: boolean
  readonly quietMs: DurationMs
  readonly storeRetry: Backoff
  readonly publishRetry: Backoff
} = {
  concurrency: 64,
  transactions: 4,
  batchSize: 100,
  handleBatchSize: 500,
  leastInFlight: 500,
  leaseMs: 30_000,
  retentionMs: 7 * DAY_MS,
  handlerTimeoutMs: 60_000,
  graceMs: 5_000,
  stopDeadlineMs: 30_000,
  leaveAfterMs: 60_000,
  maxAttempts: 5,
  maxResultBytes: 16 * 1024,
  backoff: { initialMs: 200, maxMs: 30_000 },
  onConflict: 'dead-letter',
  onInDoubt: 'rerun',
  onBeyondRetention: 'run',
  purge: 'background',
  mode: 'enforce',
  onStoreDown: 'pause',
  hold: true,
  quietMs: 2_000,
  storeRetry: { initialMs: 50, maxMs: 2_000 },
  publishRetry: { initialMs: 200, maxMs: 30_000 },
}
