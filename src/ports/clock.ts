import type { DurationMs, EpochMs, MonotonicMs } from '../core/units.ts'

/** Where time comes from. A simulation replaces it; nothing in the library asks the global clock. */
export interface Clock {
  /** Wall clock: for timestamps that people read. Never for a lease. */
  now(): EpochMs
  /** Never goes back: for deadlines and durations. */
  monotonic(): MonotonicMs
  /** Calls `fn` once after `delayMs`; the returned function cancels it. `background`: waiting for it keeps no process alive. */
  after(delayMs: DurationMs, fn: () => void, how?: { readonly background: true }): () => void
  /** Calls `fn` after the callbacks of this turn of the event loop: what gathers single messages into batches. */
  nextTurn(fn: () => void): void
}
