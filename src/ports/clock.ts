import type { DurationMs, EpochMs, MonotonicMs } from '../core/units.ts'

/** The source of time. The library never reads the global clock, so a simulation can replace it. */
export interface Clock {
  /** Wall clock, for timestamps that people read. Never used for leases. */
  now(): EpochMs
  /** Monotonic clock, for deadlines and durations. */
  monotonic(): MonotonicMs
  /**
   * Calls `fn` once after `delayMs`; the returned function cancels it. A `background` timer does not keep the process
   * alive.
   */
  after(delayMs: DurationMs, fn: () => void, how?: { readonly background: true }): () => void
  /** Calls `fn` after the callbacks of this turn of the event loop. It gathers single messages into batches. */
  nextTurn(fn: () => void): void
}
