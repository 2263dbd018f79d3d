import type { DurationMs } from '../../src/index.ts'

/** Redis takes whole milliseconds, and no expiry of zero. */
export function wholeMs(ms: DurationMs): DurationMs {
  return Math.ceil(ms)
}
