/**
 * Checks the settings of a live server against the guarantee. It changes nothing. It rejects only if the server cannot
 * be reached; a setting that it may not read is a finding of its own.
 */
export type Checkup = () => Promise<readonly CheckFinding[]>

export interface CheckFinding {
  /** Stable name for programs: `redis.eviction`, `postgres.fsync`, `kafka.retention`. */
  readonly check: string
  /**
   * `broken`: the guarantee does not hold, and no consumer starts here unless `startsBecause` says otherwise. `weaker`:
   * it holds except in a case that `meaning` names. `unknown`: the setting cannot be read.
   */
  readonly verdict: 'holds' | 'weaker' | 'broken' | 'unknown'
  /** The setting in the server's own terms: `maxmemory-policy allkeys-lru`. No secrets. */
  readonly found: string
  /** The consequence, and what to do, in whole sentences. Empty if the guarantee holds. */
  readonly meaning: string
  /**
   * Only in a `broken` finding: why a consumer starts all the same, in whole sentences. Missing: its start is refused with
   * this finding.
   */
  readonly startsBecause?: string
  /** Only in a `weaker` finding: the setting is what the server has where nobody sets it. Missing: somebody chose it. */
  readonly isServerDefault?: true
}
