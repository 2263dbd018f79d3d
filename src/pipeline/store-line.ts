import { backoffMs } from '../core/backoff.ts'
import { StoreError } from '../errors.ts'
import { DEFAULTS } from '../defaults.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import { Pauses } from './pauses.ts'
import type { FindFault } from './store-answers.ts'

/** Processes that lost their store together must not come back together; and no client can make a busy loop of its reconnects. */
const SOON_MS = { least: 20, most: 250 }

interface StoreLineHooks {
  /** As of a store, if it has it. */
  readonly onReachable: (listener: () => void) => (() => void) | undefined
  /** Called once per outage, before the first retry. */
  readonly onDown: (error: unknown) => void
  /** Called when a store answers again. */
  readonly onUp: () => void
}

/**
 * The line to the store. An error means that the answer is unknown, so the same call is made again, with the same token,
 * until it is answered: an unknown is never taken for a failure, let alone for `done`. Between two tries it pauses, longer each
 * time, but no longer than until the store says that it can be reached again, or answers another call.
 */
export class StoreLine {
  readonly #clock: Clock
  readonly #pauses: Pauses
  readonly #entropy: Entropy
  readonly #hooks: StoreLineHooks
  #failing = 0
  #deafen: (() => void) | undefined
  #cancelSoon: (() => void) | undefined

  constructor(clock: Clock, entropy: Entropy, hooks: StoreLineHooks) {
    this.#clock = clock
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
        if (failures > 0) {
          this.#recovered()
          // What one call has found out, the others need not wait for.
          this.#askSoon()
        }
        return answers
      } catch (error) {
        if (failures === 0 && ++this.#failing === 1 && !this.#pauses.areOver) this.#wentDown(error)
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
    this.#listenNoMore()
  }

  #wentDown(error: unknown): void {
    // Before anybody is told, who may throw.
    this.#deafen = this.#hooks.onReachable(() => this.#askSoon())
    this.#hooks.onDown(error)
  }

  #recovered(): void {
    if (--this.#failing > 0) return
    this.#listenNoMore()
    if (!this.#pauses.areOver) this.#hooks.onUp()
  }

  /** Ends the pauses of all calls, a moment from now. */
  #askSoon(): void {
    if (this.#failing === 0 || this.#pauses.areOver || this.#cancelSoon !== undefined) return
    const delayMs = SOON_MS.least + (SOON_MS.most - SOON_MS.least) * this.#entropy.fraction()
    this.#cancelSoon = this.#clock.after(Math.ceil(delayMs), () => {
      this.#cancelSoon = undefined
      this.#pauses.skip()
    })
  }

  #listenNoMore(): void {
    this.#deafen?.()
    this.#deafen = undefined
    this.#cancelSoon?.()
    this.#cancelSoon = undefined
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
