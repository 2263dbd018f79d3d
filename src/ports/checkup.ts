/**
 * Asks a live server what the guarantee really is, changing nothing. Rejects only where the server cannot be reached; what it may
 * not look at is a finding of its own.
 */
export type Checkup = () => Promise<readonly CheckFinding[]>

export interface CheckFinding {
  /** Stable, for machines: `redis.eviction`, `postgres.fsync`, `kafka.retention`. */
  readonly check: string
  /** `broken`: the promise does not hold. `weaker`: it holds, but for a case that is named. `unknown`: it may not be looked at. */
  readonly verdict: 'holds' | 'weaker' | 'broken' | 'unknown'
  /** What was found, as the server calls it: `maxmemory-policy allkeys-lru`. No secrets. */
  readonly found: string
  /** What follows from it, and what to do: whole sentences. Empty where it holds. */
  readonly meaning: string
}
