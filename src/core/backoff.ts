import type { DurationMs } from './units.ts'

export interface Backoff {
  /** First delay. */
  readonly initialMs: DurationMs
  /** No delay is longer. */
  readonly maxMs: DurationMs
}

/**
 * Exponential with full jitter (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015), floored at half
 * the step so that a retry never comes at once. `attempt` counts from 1; `fraction` is random, 0 <= fraction < 1.
 */
export function backoffMs(attempt: number, { initialMs, maxMs }: Backoff, fraction: number): DurationMs {
  const step = Math.min(maxMs, initialMs * 2 ** Math.min(attempt - 1, 30))
  return Math.round(step / 2 + (step / 2) * fraction)
}

/** What clocks may differ by, of a copy whose wait somebody else measures: as a part of the wait, and at most. */
const CLOCKS_DIFFER = 0.05
const CLOCKS_DIFFER_MOST_MS = 1_000

/**
 * How long a record keeps its copies back whose next one waits elsewhere for `delayMs`: a little less, so that this copy does not
 * find itself too early by the clock of the store.
 */
export function heldBackMs(delayMs: DurationMs): DurationMs {
  return delayMs - Math.min(delayMs * CLOCKS_DIFFER, CLOCKS_DIFFER_MOST_MS)
}
