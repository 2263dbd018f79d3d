import type { DurationMs, MonotonicMs } from '../../core/units.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import type { Purged } from '../../ports/store-admin.ts'
import type { Tell } from '../telemetry/observe.ts'

/** No purge for this long after a start or a rebalance: late redeliveries of that time must find their records. */
const QUIET_MS = 5 * 60_000
/** Rebalances that come more often than that put no purge off: else their group would never purge. */
const LONGEST_QUIET_MS = 60 * 60_000
/** The purge of a process that ends before its first round: what is over for so many messages, and the longest wait. */
const LAST_BATCH = 1_000
const LAST_MS = 2_000

/** The pace of every purge in the background, also that of `once` (src/once/purges.ts). */
export const PURGE: PurgePace = { everyMs: 10 * 60_000, batch: 10_000, pauseMs: 250 }

interface PurgePace {
  /** From one round to the next. */
  readonly everyMs: DurationMs
  readonly batch: number
  /** Pause between batches, for other work of the store. */
  readonly pauseMs: DurationMs
}

const NONE: Purged = { removed: 0, more: false }

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
  /** When it last began to be quiet: at the start, or with a round. */
  #quietSince: MonotonicMs = 0
  #hasRun = false
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
    this.#quietSince = this.#services.clock.monotonic()
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
    const until = this.#services.clock.monotonic() + QUIET_MS
    this.#quietUntil = Math.min(until, this.#quietSince + LONGEST_QUIET_MS)
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  /**
   * For a process that ends before its first round, such as a job: a small batch, when nothing else is left to do.
   * Otherwise a consumer that never runs for long would never purge. Resolves after `leftMs` at the latest; never rejects.
   */
  async last(leftMs: DurationMs): Promise<void> {
    const { clock } = this.#services
    const wasStarted = this.#cancel !== undefined
    if (!wasStarted || this.#hasRun || leftMs <= 0) return
    await new Promise<void>((resolve) => {
      const cancel = clock.after(Math.min(leftMs, LAST_MS), resolve)
      const purge = async (): Promise<void> => {
        const { removed } = await this.#purge(LAST_BATCH)
        cancel()
        if (removed > 0) this.#services.observe({ type: 'purged', removed })
        resolve()
      }
      void purge()
    })
    this.#cancel = undefined
  }

  async #purge(limit: number): Promise<Purged> {
    const { consumer } = this.#services
    try {
      const purged = await consumer.store.admin?.purge(this.#scope, { retentionMs: this.#keepMs, limit })
      return purged ?? NONE
    } catch (error) {
      if (!this.#isStopped) this.#services.observe({ type: 'purge-failed', error })
      return NONE
    }
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
    const { clock, observe } = this.#services
    this.#hasRun = true
    this.#quietSince = clock.monotonic()
    const { removed, more } = await this.#purge(PURGE.batch)
    this.#removed += removed
    if (more && !this.#isStopped && this.#quietMs <= 0) return this.#after(PURGE.pauseMs, () => void this.#batch())
    if (this.#removed > 0) observe({ type: 'purged', removed: this.#removed })
    this.#removed = 0
    this.#after(PURGE.everyMs, () => this.#round())
  }

  #after(delayMs: DurationMs, next: () => void): void {
    if (this.#isStopped) return
    this.#cancel = this.#services.clock.after(delayMs, next, { background: true })
  }
}
