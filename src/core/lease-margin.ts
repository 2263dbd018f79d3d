import type { DurationMs } from './units.ts'

const LARGEST_MARGIN_MS = 1_000
/** Largest margin, as a share of the lease. It applies to short leases. */
const LARGEST_SHARE = 0.1

/**
 * How long before the end of its lease, by the local clock, a handler is aborted; with less left no handler begins. The
 * margin covers timers that fire late in a busy event loop, clock drift, and the time that a handler needs to stop.
 */
export function leaseMarginMs(leaseMs: DurationMs): DurationMs {
  return Math.min(LARGEST_MARGIN_MS, Math.ceil(leaseMs * LARGEST_SHARE))
}
