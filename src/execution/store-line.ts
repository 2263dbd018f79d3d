import { backoffMs } from '../core/backoff.ts'
import { StoreError } from '../foundation/errors.ts'
import { RETRY_TIMES } from '../consumer/retry-times.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import { Pauses } from './pauses.ts'
import type { MonotonicMs } from '../core/units.ts'
import type { StoreOperation } from '../ports/observer.ts'
import type { FindFault } from './store-answers.ts'

export type OnCall = (operation: StoreOperation, count: number, sentAt: MonotonicMs, error?: unknown) => void

/**
 * Jitter: processes that lost their store together must not return together, and a client that reconnects often must
 * not cause a busy loop.
 */
const SOON_MS = { least: 20, most: 250 }

interface StoreLineHooks {
  /** A call has ended; with `error`: its answer is unknown. */
  readonly onCall: OnCall
  /** `Store.onReachable`, if the store has it. */
  readonly onReachable: (listener: () => void) => (() => void) | undefined
  /** Called once per outage, before the first retry. */
  readonly onDown: (error: unknown) => void
  /** Called when the store answers again. */
  readonly onUp: () => void
}

/**
 * Calls the store until it answers. An error means that the answer is unknown, so the same call is made again with the
 * same token: an unknown answer never counts as a failure or as `done`. The pauses between tries grow, and end early
 * when the store signals that it is reachable, or answers another call.
 */
export class StoreLine {
  readonly #clock: Clock
  readonly #pauses: Pauses
  readonly #entropy: Entropy
  readonly #hooks: StoreLineHooks
  #failing = 0
  /** A call of `watch` is asked again and again. */
  #isWatching = false
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
   * Resolves with one answer for each item, or with `undefined` if the line was abandoned first; then the answer is
   * unknown. An answer outside of the protocol counts as unknown and is asked for again, so a faulty store stops the
   * consumer. An abandoned line still sends each call once, so that work which is done by then need not wait for the
   * end of a lease. `onFailing` is called once, when the first try fails: the caller may go on without the answer.
   */
  async ask<T>(
    operation: StoreOperation,
    items: number,
    call: () => Promise<readonly T[]>,
    faultOf: FindFault<T>,
    onFailing?: () => void,
  ): Promise<readonly T[] | undefined> {
    for (let failures = 0; ;) {
      const sentAt = this.#clock.monotonic()
      try {
        const answers = await call()
        refuseFaults(answers, items, faultOf)
        this.#hooks.onCall(operation, items, sentAt)
        if (failures > 0) {
          this.#recovered()
          // One successful call shows that the store is back; the others need not wait.
          this.#askSoon()
        }
        return answers
      } catch (error) {
        this.#hooks.onCall(operation, items, sentAt, error)
        if (failures === 0 && ++this.#failing === 1 && !this.#pauses.areOver) this.#wentDown(error)
        if (failures === 0 && !this.#pauses.areOver) onFailing?.()
        failures++
        await this.#pauses.pause(backoffMs(failures, RETRY_TIMES.storeRetry, this.#entropy.fraction()))
        if (!this.#pauses.areOver) continue
        this.#recovered()
        return undefined
      }
    }
  }

  /**
   * A call that its caller repeats itself, or gives up. If it fails, it is asked here until it is answered: so the store
   * counts as down from now on, and that it is back is noticed even if nobody asks any more. One such call at a time.
   */
  async watch<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      if (!this.#isWatching) void this.#askUntilAnswered(operation, call)
      throw error
    }
  }

  async #askUntilAnswered(operation: StoreOperation, call: () => Promise<unknown>): Promise<void> {
    this.#isWatching = true
    await this.ask(
      operation,
      1,
      async () => [await call()],
      () => undefined,
    )
    this.#isWatching = false
  }

  /** Ends all retries: the stop deadline has passed, and unknown answers stay unknown. */
  abandon(): void {
    this.#pauses.end()
    this.#listenNoMore()
  }

  #wentDown(error: unknown): void {
    // Before the hooks are called, because they may throw.
    this.#deafen = this.#hooks.onReachable(() => this.#askSoon())
    this.#hooks.onDown(error)
  }

  #recovered(): void {
    if (--this.#failing > 0) return
    this.#listenNoMore()
    if (!this.#pauses.areOver) this.#hooks.onUp()
  }

  /** Ends the pauses of all calls after a short delay. */
  #askSoon(): void {
    if (this.#failing === 0 || this.#pauses.areOver || this.#cancelSoon !== undefined) return
    const delayMs = SOON_MS.least + (SOON_MS.most - SOON_MS.least) * this.#entropy.fraction()
    this.#cancelSoon = this.#clock.after(Math.ceil(delayMs), () => {
      this.#cancelSoon = undefined
      this.#pauses.skip() // mutant: deaf-to-a-store-that-is-back
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
