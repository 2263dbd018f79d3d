import type { DurationMs } from '../core/units.ts'

/** What a shared limiter answers. */
export interface SharedPermits {
  /** Of the permits that were asked for, 0 or more. */
  readonly granted: number
  /** With fewer than asked for: after how long to ask again, in milliseconds. */
  readonly retryAfterMs: DurationMs
}

/** The quota of one provider, on a server. Every method may reject: then nothing is granted. */
export interface SharedQuota {
  /** Asks for up to `count` permits of this key. */
  take(key: string, count: number): Promise<SharedPermits>
  /** Nothing is granted for this key in this time. Does not shorten an earlier one. */
  holdBack(key: string, forMs: DurationMs): Promise<void>
}

/**
 * A quota that processes share, by a limiter of another library: `redisLimit()` and `postgresLimit()` of
 * `consume-once/rate-limiter-flexible`.
 */
export interface SharedLimit {
  /** What is shared, for people. */
  readonly name: string
  /** So many permits in each window of so many seconds. */
  quota(permits: number, seconds: number): SharedQuota
  /** Called before a consumer starts. Rejects if it can never work, such as without its library. */
  open?(): Promise<void>
}
