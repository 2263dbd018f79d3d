import { backoffMs, type Backoff } from '../../core/backoff.ts'
import { windowOf } from '../../core/quota.ts'
import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import type { Limit } from '../../consumer/limit.ts'
import { describeError } from '../../foundation/errors.ts'
import { payloadHashOf } from '../../identity/digest.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Entropy } from '../../ports/entropy.ts'
import type { PipelineEvent } from '../../ports/observer.ts'
import type { SharedLimit, SharedPermits, SharedQuota } from '../../ports/shared-limit.ts'

/** A client without a connection may wait for it for ever. */
const ANSWER_WITHIN_MS: DurationMs = 2_000
const RETRY: Backoff = { initialMs: 200, maxMs: 5_000 }
/** An answer of the limiter is at least so far away: a clock may round down. */
const LEAST_WAIT_MS: DurationMs = 1
/** 128 bits in base64url. A key may be a phone number, and a table has keys of limited length. */
const KEY_LENGTH = 22

interface LinePlaces {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly observe: (event: PipelineEvent) => void
}

interface Outage {
  readonly since: MonotonicMs
  readonly failures: number
  readonly error: string
}

/** The way to the shared limiter. While it does not answer, nothing is granted, and it is asked again. */
export class SharedLine {
  readonly #places: LinePlaces
  readonly #quota: SharedQuota
  readonly #name: string
  /** Of the timers of calls under way. */
  readonly #cancels = new Set<() => void>()
  #outage: Outage | undefined
  #isOver = false

  constructor(shared: SharedLimit, { perSecond }: Limit, places: LinePlaces) {
    this.#places = places
    this.#name = shared.name
    const { permits, seconds } = windowOf(perSecond)
    this.#quota = shared.quota(permits, seconds)
  }

  /** What is wrong with it, for people. */
  get problem(): { readonly name: string; readonly forMs: DurationMs; readonly error: string } | undefined {
    if (this.#outage === undefined) return undefined
    const { since, error } = this.#outage
    return { name: this.#name, forMs: this.#places.clock.monotonic() - since, error }
  }

  /** Never rejects: a failure grants nothing, for a while. */
  async take(key: string, count: number): Promise<SharedPermits & { readonly at: MonotonicMs }> {
    const { clock } = this.#places
    try {
      const { granted, retryAfterMs } = await this.#within(() => this.#quota.take(keyOf(key), count))
      this.#answered()
      const most = Number.isInteger(granted) ? Math.min(count, Math.max(0, granted)) : 0
      const waitMs = Number.isFinite(retryAfterMs) ? Math.max(LEAST_WAIT_MS, retryAfterMs) : RETRY.initialMs
      return { granted: most, retryAfterMs: waitMs, at: clock.monotonic() }
    } catch (error) {
      const retryAfterMs = this.#failed(error)
      const granted = 0 // mutant: limit-open-while-its-server-is-silent
      return { granted, retryAfterMs, at: clock.monotonic() }
    }
  }

  /** For the other processes. This one holds the key back in any case. */
  holdBack(key: string, forMs: DurationMs): void {
    const held = this.#within(() => this.#quota.holdBack(keyOf(key), forMs))
    held.then(
      () => this.#answered(),
      (error: unknown) => void this.#failed(error),
    )
  }

  /** Nobody waits for an answer any more. */
  stop(): void {
    this.#isOver = true
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
  }

  #answered(): void {
    if (this.#outage === undefined) return
    this.#outage = undefined
    if (!this.#isOver) this.#places.observe({ type: 'limit-up' })
  }

  #failed(error: unknown): DurationMs {
    const { clock, entropy, observe } = this.#places
    const { since = clock.monotonic(), failures = 0 } = this.#outage ?? {}
    if (this.#outage === undefined && !this.#isOver) observe({ type: 'limit-down', error })
    this.#outage = { since, failures: failures + 1, error: describeError(error) }
    return backoffMs(failures + 1, RETRY, entropy.fraction())
  }

  #within<T>(ask: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Error(`no answer within ${ANSWER_WITHIN_MS} ms`))
      const cancel = this.#places.clock.after(ANSWER_WITHIN_MS, late, { background: true })
      this.#cancels.add(cancel)
      const answered = (): void => {
        cancel()
        this.#cancels.delete(cancel)
      }
      called(ask).finally(answered).then(resolve, reject)
    })
  }
}

function keyOf(key: string): string {
  return payloadHashOf(Buffer.from(key)).slice(0, KEY_LENGTH)
}

/** Also for what throws before it returns a promise. */
async function called<T>(ask: () => Promise<T>): Promise<T> {
  return ask()
}
