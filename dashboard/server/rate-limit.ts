import type { Clock } from '../../src/ports/clock.ts'
import { HttpError } from './http-error.ts'

const MOST_CLIENTS = 1_000

export interface RateLimits {
  /** Tokens of a client that was quiet. */
  readonly burst: number
  readonly perSecond: number
  /** Expensive requests of all clients that are answered at once, and that wait. */
  readonly atOnce: number
  readonly waiting: number
}

interface Bucket {
  tokens: number
  at: number
}

/** A token bucket for each client, and a bound for all: a page that is open often does not burden the store of live consumers. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #limits: RateLimits
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: RateLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** @throws HttpError 429 */
  take(client: string, cost: number): void {
    const { burst, perSecond } = this.#limits
    const now = this.#clock.monotonic()
    const bucket = this.#buckets.get(client) ?? { tokens: burst, at: now }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond)
    bucket.at = now
    this.#buckets.delete(client)
    this.#buckets.set(client, bucket)
    if (this.#buckets.size > MOST_CLIENTS) {
      for (const oldest of this.#buckets.keys()) {
        this.#buckets.delete(oldest)
        break
      }
    }
    if (bucket.tokens < cost) throw tooMany(Math.ceil(((cost - bucket.tokens) / perSecond) * 1_000))
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
