import type { DurationMs, MonotonicMs } from './units.ts'

/** A quota as a token bucket: `burst` permits when full, and one more every `1000 / perSecond` ms. */
export interface Quota {
  readonly perSecond: number
  readonly burst: number
}

/** A timer that fires late, or messages that had no free slot, get the permits of so much time made up for. */
export const MADE_UP_MS: DurationMs = 50

/**
 * The bucket as one number, its theoretical arrival time (GCRA): when it is full again. It is full at every later time.
 * In any time `t` it gives at most `burst + perSecond * (t + MADE_UP_MS)` permits.
 */
export type Bucket = MonotonicMs

/** A full bucket. */
export const FULL: Bucket = Number.NEGATIVE_INFINITY

/** When the next permit is free. */
export function freeAt(bucket: Bucket, { perSecond, burst }: Quota): MonotonicMs {
  return bucket - ((burst - 1) * 1_000) / perSecond
}

/** Somebody begins to wait for a permit: a time in which nobody did is worth `burst` permits and no more. */
export function wanted(bucket: Bucket, now: MonotonicMs): Bucket {
  return Math.max(bucket, now)
}

/** One permit is taken. */
export function taken(bucket: Bucket, now: MonotonicMs, { perSecond }: Quota): Bucket {
  return Math.max(bucket, now - MADE_UP_MS) + 1_000 / perSecond
}

/** One permit was not used. */
export function returned(bucket: Bucket, { perSecond }: Quota): Bucket {
  return bucket - 1_000 / perSecond
}

/** A window that has a whole number of permits, for a limiter that counts in windows. */
export interface Window {
  readonly permits: number
  readonly seconds: number
}

const MOST_SECONDS = 600
const EXACT_ENOUGH = 0.001

/** The shortest window of whole seconds that keeps the rate within 0.1 %, and never more than it. */
export function windowOf(perSecond: number): Window {
  for (let seconds = 1; seconds <= MOST_SECONDS; seconds++) {
    const permits = Math.floor(perSecond * seconds * (1 + Number.EPSILON))
    if (permits > 0 && permits >= perSecond * seconds * (1 - EXACT_ENOUGH)) return { permits, seconds }
  }
  return { permits: Math.max(1, Math.floor(perSecond * MOST_SECONDS)), seconds: MOST_SECONDS }
}
