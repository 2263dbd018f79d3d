import { durationText } from '../core/duration-text.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { KnownSince } from '../ports/store-admin.ts'

/** When claims were made with each retention, at the latest. */
export type UsedRetentions = Iterable<readonly [retentionMs: DurationMs, until: EpochMs]>

/** How long a note of a retention holds: claims write it again only after that, so it may be so much too late. */
export const RETENTION_NOTED_MS: DurationMs = 60_000

/** The first claim, or the first import, which says that all before it is known. */
export function sinceFirst(at: EpochMs): KnownSince {
  return { at, because: 'the first claim or import of this consumer' }
}

/**
 * For stores whose records end with the retention of their claim. Retention R, last claimed with at time T: the record
 * of a message that arrived before both T and now - R may have ended. So a retention that was raised proves nothing more
 * about the time before, and one that is still in use gives its own horizon.
 */
export function sinceKept(now: EpochMs, used: UsedRetentions): readonly KnownSince[] {
  return Array.from(used, ([retentionMs, until]) => ({
    at: Math.min(until, now - retentionMs) + 1, // mutant: raised-retention-ignored
    because: `records of before were kept for ${durationText(retentionMs)} only`,
  }))
}

export function latestOf(first: KnownSince, others: readonly KnownSince[]): KnownSince {
  return others.reduce((latest, other) => (other.at > latest.at ? other : latest), first)
}
