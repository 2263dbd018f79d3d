import { backoffMs } from '../core/backoff.ts'
import { DEFAULTS } from '../options.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'

interface StoreLineHooks {
  /** Called once per outage, before the first retry. */
  readonly onDown: (error: unknown) => void
  /** Called when a store answers again. */
  readonly onUp: () => void
}

/**
 * The line to the store. An error means that the answer is unknown, so the same call is made again, with the same token,
 * until it is answered: an unknown is never taken for a failure, let alone for `done`.
 */
export class StoreLine {
  readonly #clock: Clock
  readonly #entropy: Entropy
  readonly #hooks: StoreLineHooks
  readonly #waiting = new Set<() => void>()
  #failing = 0
  #abandoned = false

  constructor(clock: Clock, entropy: Entropy, hooks: StoreLineHooks) {
    this.#clock = clock
    this.#entropy = entropy
    this.#hooks = hooks
  }

  get isDown(): boolean {
    return this.#failing > 0
  }

  /** Resolves with the answer, or with `undefined` when the line was abandoned first: then nobody knows. */
  async ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    let failures = 0
    while (!this.#abandoned) {
      try {
        const answer = await call()
        if (failures > 0) this.#recovered()
        return answer
      } catch (error) {
        if (failures === 0 && ++this.#failing === 1) this.#hooks.onDown(error)
        failures++
        await this.#pauseBefore(failures)
      }
    }
    if (failures > 0) this.#recovered()
    return undefined
  }

  /** Ends all retries: the stop deadline has passed, and what is unknown stays unknown. */
  abandon(): void {
    this.#abandoned = true
    for (const wake of this.#waiting) wake()
  }

  #recovered(): void {
    if (--this.#failing === 0 && !this.#abandoned) this.#hooks.onUp()
  }

  #pauseBefore(attempt: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel()
        this.#waiting.delete(finish)
        resolve()
      }
      const cancel = this.#clock.after(backoffMs(attempt, DEFAULTS.storeRetry, this.#entropy.fraction()), finish)
      this.#waiting.add(finish)
      if (this.#abandoned) finish()
    })
  }
}
