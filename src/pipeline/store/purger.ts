import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import type { Tell } from '../telemetry/observe.ts'

/** No purge for this long after a start or a rebalance: late redeliveries of that time must find their records. */
const QUIET_MS = 5 * 60_000
const EVERY_MS = 10 * 60_000
const BATCH = 10_000
/** Pause between batches, for other work of the store. */
const PAUSE_MS = 250

/** What the purger needs of its caller. */
interface PurgerServices {
  readonly consumer: Pick<ResolvedConsumer, 'store' | 'purge' | 'retentionMs'>
  readonly clock: Clock
  readonly observe: Tell
}

/**
 * Removes records whose retention has ended, in stores that do not expire them on their own. Does not keep the process
 * alive.
 */
export class Purger {
  readonly #services: PurgerServices
  readonly #scope: string
  #keepMs: DurationMs
  #quietUntil: MonotonicMs = 0
  #removed = 0
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(services: PurgerServices, scope: string) {
    this.#services = services
    this.#scope = scope
    this.#keepMs = services.consumer.retentionMs
  }

  start(): void {
    const { consumer } = this.#services
    if (this.#isStopped || this.#cancel !== undefined) return
    if (consumer.purge === 'never' || consumer.store.admin === undefined) return
    this.postpone()
    this.#after(QUIET_MS, () => this.#round())
  }

  /**
   * Keeps records at least this long, because the broker may redeliver their messages, even if `retentionMs` is
   * shorter.
   */
  keepFor(windowMs: DurationMs): void {
    this.#keepMs = Math.max(this.#keepMs, windowMs)
  }

  postpone(): void {
    this.#quietUntil = this.#services.clock.monotonic() + QUIET_MS
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  get #quietMs(): DurationMs {
    return this.#quietUntil - this.#services.clock.monotonic()
  }

  #round(): void {
    if (this.#quietMs > 0) return this.#after(this.#quietMs, () => this.#round())
    void this.#batch()
  }

  /** If the store does not answer, the round ends; the next one comes later. */
  async #batch(): Promise<void> {
    const { consumer, observe } = this.#services
    let hasMore = false
    try {
      const purged = await consumer.store.admin?.purge(this.#scope, { retentionMs: this.#keepMs, limit: BATCH })
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
    this.#cancel = this.#services.clock.after(delayMs, next, { background: true })
  }
}
