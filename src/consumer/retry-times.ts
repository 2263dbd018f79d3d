import type { Backoff } from '../core/backoff.ts'
import type { DurationMs } from '../core/units.ts'

/** What users cannot set. The defaults of options stand in their tables. */
export const RETRY_TIMES: {
  readonly quietMs: DurationMs
  readonly storeRetry: Backoff
  readonly publishRetry: Backoff
} = {
  quietMs: 2_000,
  storeRetry: { initialMs: 50, maxMs: 2_000 },
  publishRetry: { initialMs: 200, maxMs: 30_000 },
}
