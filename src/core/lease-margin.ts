import type { DurationMs } from './units.ts'

const LARGEST_MARGIN_MS = 1_000
/** Of a short lease. */
const LARGEST_SHARE = 0.1

/**
 * How long before the end of its lease, by the local clock, a handler is aborted, and from when on none is begun. It covers a
 * timer that is late because the event loop is busy, clocks that do not run equally fast, and the time a handler needs to stop.
 */
export function leaseMarginMs(leaseMs: DurationMs): DurationMs {
  return Math.min(LARGEST_MARGIN_MS, Math.ceil(leaseMs * LARGEST_SHARE))
}
