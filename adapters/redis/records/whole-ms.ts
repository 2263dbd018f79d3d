import type { DurationMs } from '../../../src/internal.ts'

/** Redis takes whole milliseconds, and refuses an expiry of zero. */
export function wholeMs(ms: DurationMs): DurationMs {
  return Math.ceil(ms)
}
