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
