import { backoffMs } from '../core/backoff.ts'
import { StoreError } from '../errors.ts'
import { DEFAULTS } from '../defaults.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import { Pauses } from './pauses.ts'
import type { FindFault } from './store-answers.ts'

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
  readonly #pauses: Pauses
  readonly #entropy: Entropy
  readonly #hooks: StoreLineHooks
  #failing = 0

  constructor(clock: Clock, entropy: Entropy, hooks: StoreLineHooks) {
    this.#pauses = new Pauses(clock)
    this.#entropy = entropy
    this.#hooks = hooks
  }

  get isDown(): boolean {
    return this.#failing > 0
  }

  /**
   * Resolves with one answer for each item, or with `undefined` when the line was abandoned first: then nobody knows. What is
   * no answer of the protocol is asked for again, as one that is not known: a store that talks nonsense stands still. An
   * abandoned line still sends each call once: what is known by then should not be left to the end of a lease.
   */
  async ask<T>(
    items: number,
    call: () => Promise<readonly T[]>,
    faultOf: FindFault<T>,
  ): Promise<readonly T[] | undefined> {
    for (let failures = 0; ;) {
      try {
        const answers = await call()
        refuseFaults(answers, items, faultOf)
        if (failures > 0) this.#recovered()
        return answers
      } catch (error) {
        if (failures === 0 && ++this.#failing === 1 && !this.#pauses.areOver) this.#hooks.onDown(error)
        failures++
        await this.#pauses.pause(backoffMs(failures, DEFAULTS.storeRetry, this.#entropy.fraction()))
        if (!this.#pauses.areOver) continue
        this.#recovered()
        return undefined
      }
    }
  }

  /** Ends all retries: the stop deadline has passed, and what is unknown stays unknown. */
  abandon(): void {
    this.#pauses.end()
  }

  #recovered(): void {
    if (--this.#failing === 0 && !this.#pauses.areOver) this.#hooks.onUp()
  }
}

/** @throws StoreError `STORE_MISUSED` */
function refuseFaults<T>(answers: readonly T[], items: number, faultOf: FindFault<T>): void {
  const { length } = answers
  if (length !== items) throw new StoreError('STORE_MISUSED', `the store: expected ${items} answers, got ${length}`)
  for (let at = 0; at < length; at++) {
    const fault = faultOf(answers[at] as T, at)
    if (fault !== undefined) throw new StoreError('STORE_MISUSED', `the store: got ${fault}`)
  }
}
