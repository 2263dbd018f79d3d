import type { DurationMs } from './units.ts'

export interface Backoff {
  /** The first delay. */
  readonly initialMs: DurationMs
  /** The longest delay. */
  readonly maxMs: DurationMs
}

/** The longest delay after an attempt, counted from 1. It doubles up to `maxMs`. */
export function longestBackoffMs(attempt: number, { initialMs, maxMs }: Backoff): DurationMs {
  return Math.min(maxMs, initialMs * 2 ** Math.min(attempt - 1, 30))
}

/**
 * Exponential backoff with equal jitter (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015): at
 * least half the step, so that a retry never comes at once. `attempt` counts from 1; `fraction` is random, 0 <=
 * fraction < 1.
 */
export function backoffMs(attempt: number, backoff: Backoff, fraction: number): DurationMs {
  const step = longestBackoffMs(attempt, backoff)
  return Math.round(step / 2 + (step / 2) * fraction)
}

/**
 * Allowed difference between the clock of a store and the clock that measures the wait of a copy, as a share of the
 * wait and at most.
 */
const CLOCKS_DIFFER = 0.05
const CLOCKS_DIFFER_MOST_MS = 1_000

/**
 * How long a record holds back its message while a copy waits in a retry place for `delayMs`. It is a little shorter
 * than that, so that the copy does not arrive too early by the clock of the store.
 */
export function heldBackMs(delayMs: DurationMs): DurationMs {
  return delayMs - Math.min(delayMs * CLOCKS_DIFFER, CLOCKS_DIFFER_MOST_MS)
}
