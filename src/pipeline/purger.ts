import type { DurationMs, MonotonicMs } from '../core/units.ts'
import type { Desk } from './runner.ts'

/** After a start or a rebalance: what comes again then must find its record, however late it is. */
const QUIET_MS = 5 * 60_000
const EVERY_MS = 10 * 60_000
const BATCH = 10_000
/** Between batches, for whatever else the store has to do. */
const PAUSE_MS = 250

/** Removes records whose retention has ended, where the store does not do so by itself. Never keeps a process alive. */
export class Purger {
  readonly #desk: Desk
  #keepMs: DurationMs
  #quietUntil: MonotonicMs = 0
  #removed = 0
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(desk: Desk) {
    this.#desk = desk
    this.#keepMs = desk.consumer.retentionMs
  }

  start(): void {
    const { consumer } = this.#desk
    if (this.#isStopped || this.#cancel !== undefined) return
    if (consumer.purge === 'never' || consumer.store.admin === undefined) return
    this.postpone()
    this.#after(QUIET_MS, () => this.#round())
  }

  /** What is older may come again: it is kept, whatever its retention says. */
  keepFor(windowMs: DurationMs): void {
    this.#keepMs = Math.max(this.#keepMs, windowMs)
  }

  postpone(): void {
    this.#quietUntil = this.#desk.clock.monotonic() + QUIET_MS
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  get #quietMs(): DurationMs {
    return this.#quietUntil - this.#desk.clock.monotonic()
  }

  #round(): void {
    if (this.#quietMs > 0) return this.#after(this.#quietMs, () => this.#round())
    void this.#batch()
  }

  /** A store that does not answer is not asked again: it does so within a time of its own. */
  async #batch(): Promise<void> {
    const { consumer, scope, observe } = this.#desk
    let hasMore = false
    try {
      const purged = await consumer.store.admin?.purge(scope, { retentionMs: this.#keepMs, limit: BATCH })
      this.#removed += purged?.removed ?? 0
      hasMore = purged?.more ?? false
    } catch (error) {
      if (!this.#isStopped) observe({ type: 'purge-failed', error })
    }
    if (hasMore && !this.#isStopped && this.#quietMs <= 0) return this.#after(PAUSE_MS, () => void this.#batch())
    if (this.#removed > 0) observe({ type: 'purged', removed: this.#removed })
    this.#removed = 0
    this.#after(EVERY_MS, () => this.#round())
  }

  #after(delayMs: DurationMs, next: () => void): void {
    if (this.#isStopped) return
    this.#cancel = this.#desk.clock.after(delayMs, next, { background: true })
  }
}
