import type { Clock } from '../../src/ports/clock.ts'
import { Buckets } from './bounded.ts'
import { HttpError } from './http-error.ts'

export interface RateLimits {
  /** Tokens of a client that was quiet. */
  readonly burst: number
  readonly perSecond: number
  /** Expensive requests of all clients that are answered at once, and that wait. */
  readonly atOnce: number
  readonly waiting: number
}

/** A token bucket for each client, and a bound for all: a page that is open often does not burden the store of live consumers. */
export class RateLimit {
  readonly #buckets: Buckets
  readonly #limits: RateLimits
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: RateLimits, clock: Clock) {
    this.#limits = limits
    this.#buckets = new Buckets({ burst: limits.burst, eachMs: 1_000 / limits.perSecond }, clock)
  }

  /** @throws HttpError 429 */
  take(client: string, cost: number): void {
    const bucket = this.#buckets.of(client)
    if (bucket.tokens < cost) throw tooMany(this.#buckets.waitMs(bucket, cost))
    bucket.tokens -= cost
  }

  /** Runs an expensive request when there is room. @throws HttpError 429 */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { atOnce, waiting } = this.#limits
    if (this.#running >= atOnce) {
      if (this.#waiting.length >= waiting) throw tooMany(1_000)
      await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    } else this.#running++
    try {
      return await work()
    } finally {
      // The place goes to the next one, who does not count himself again.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

function tooMany(retryAfterMs: number): HttpError {
  return new HttpError(429, 'HTTP_TOO_MANY', 'too many requests: slow down', retryAfterMs)
}
