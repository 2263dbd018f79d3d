import type { RateLimiterRes, RateLimiterStoreAbstract } from 'rate-limiter-flexible'
import {
  plainText,
  systemClock,
  type DurationMs,
  type Rule,
  type SharedPermits,
  type SharedQuota,
} from '../../src/internal.ts'

/** Prefix of all keys of the library at the limiter. */
const PREFIX = 'consume-once:limit'

export const NAME: Rule<string> = plainText({ most: 100 })

/**
 * A window has one of so many counters in turn, which live for two windows. So a counter has expired when its turn comes
 * again, and the clocks of two processes may differ by a window.
 */
const COUNTERS = 4
const LIVES_FOR = 2

/** What of the limiter is called. Its counter goes on above the limit, so each call has its part of it. */
type Counter = Pick<RateLimiterStoreAbstract, 'consume' | 'get' | 'block'>

interface Window {
  readonly permits: number
  readonly seconds: number
}

/** Settings of the limiter that counts these windows. */
export function countingOf(
  name: string,
  { permits, seconds }: Window,
): Readonly<Record<'keyPrefix', string>> & {
  readonly points: number
  readonly duration: number
} {
  return { keyPrefix: `${PREFIX}:${name}`, points: permits, duration: LIVES_FOR * seconds }
}

/**
 * A quota by counters of permits in windows. Windows begin at whole multiples of their length by the wall clock: one that
 * began with its first call would end later each time, and the rate would be less than it is.
 */
export class CountedQuota implements SharedQuota {
  readonly #permits: number
  readonly #windowMs: DurationMs
  readonly #counter: () => Promise<Counter>

  /** @param counter - may reject, and is then asked again at the next call */
  constructor({ permits, seconds }: Window, counter: () => Promise<Counter>) {
    this.#permits = permits
    this.#windowMs = seconds * 1_000
    this.#counter = counter
  }

  async take(key: string, count: number): Promise<SharedPermits> {
    const counter = await this.#counter()
    const now = systemClock.now()
    const window = Math.floor(now / this.#windowMs)
    // Both at once. A client sends them together.
    const [counted, held] = await Promise.all([
      countedBy(counter, `${key}:${window % COUNTERS}`, count),
      counter.get(key),
    ])
    if (held !== null && held.msBeforeNext > 0) return { granted: 0, retryAfterMs: held.msBeforeNext }
    const before = counted.consumedPoints - count
    return {
      granted: Math.max(0, Math.min(count, this.#permits - before)),
      retryAfterMs: (window + 1) * this.#windowMs - systemClock.now(),
    }
  }

  async holdBack(key: string, forMs: DurationMs): Promise<void> {
    const counter = await this.#counter()
    const held = await counter.get(key)
    if (held === null || held.msBeforeNext < forMs) await counter.block(key, Math.ceil(forMs / 1_000))
  }
}

/** What it has counted, also where that is more than the limit, which rejects. */
async function countedBy(counter: Counter, key: string, count: number): Promise<RateLimiterRes> {
  try {
    return await counter.consume(key, count)
  } catch (error) {
    if (isCounted(error)) return error
    throw error
  }
}

/** It rejects with a `RateLimiterRes`, which is no error. */
function isCounted(thrown: unknown): thrown is RateLimiterRes {
  return (
    !(thrown instanceof Error) && typeof (thrown as { consumedPoints?: unknown } | null)?.consumedPoints === 'number'
  )
}
