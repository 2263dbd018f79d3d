import { durationText } from '../../core/duration-text.ts'
import { leaseMarginMs } from '../../core/lease-margin.ts'
import type { Result } from '../../core/record.ts'
import type { MonotonicMs } from '../../core/units.ts'
import { LeaseLostError } from '../../foundation/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Claim } from '../../ports/store.ts'
import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import { claimsOf, type Claims } from './claims.ts'
import type { RunItem } from '../handling/handler-run.ts'
import type { StoreClient } from './store-client.ts'
import type { TimedRun } from '../handling/timed-run.ts'

/** Longest interval between two checks of the leases. There is no timer without leases. */
const LONGEST_TICK_MS = 500

/** Something that is claimed. */
type Claimed = Claims

/** The lease of one claimed message or batch, from its grant to its mark, release or set-aside. */
export class HeldLease<Item extends Claimed = RunItem> {
  readonly items: readonly Item[]
  /** The user's function that runs under it. Without one the lease is only renewed. */
  run: TimedRun | undefined
  /** The result or failure to keep with the mark of a single message. */
  kept: Result | undefined
  /** Used by the keeper only: when the granting claim or the last successful renewal was sent. */
  sentAt: MonotonicMs
  /** Used by the keeper only. `lost`: another owner has the message. */
  state: 'held' | 'renewing' | 'lost' = 'held'
  /** The lease ended while the store did not answer, and its function went on (`onStoreDown: 'run-unprotected'`). */
  isOutlived = false
  /** Used by the keeper only: its index, because leases are added and removed for every message. */
  at: number | undefined

  constructor(items: readonly Item[], sentAt: MonotonicMs) {
    this.items = items
    this.sentAt = sentAt
    this.run = undefined
    this.kept = undefined
    this.at = undefined
  }

  get claims(): readonly Claim[] {
    return claimsOf(this.items)
  }
}

/** What the keeper needs of its caller. */
export interface KeeperServices {
  readonly consumer: Pick<ResolvedConsumer, 'leaseMs' | 'renewEveryMs' | 'handlerTimeoutMs' | 'graceMs' | 'onStoreDown'>
  readonly clock: Clock
  readonly store: Pick<StoreClient, 'renew' | 'isDown'>
}

/**
 * Renews leases in one call, and watches the time of the functions that run under them. It aborts a function shortly
 * before its lease ends, or when it exceeds its timeout, and reports one that ignores the abort. One timer serves all
 * leases; it fires at each tick, or earlier if a lease could end before the next tick.
 */
export class LeaseKeeper<Item extends Claimed = RunItem> {
  readonly #services: KeeperServices
  readonly #onStuck: (lease: HeldLease<Item>, run: TimedRun) => void
  readonly #kept: HeldLease<Item>[] = []
  readonly #tickMs: number
  readonly #marginMs: number
  /** When the timer fires. */
  #tickAt: MonotonicMs = Number.POSITIVE_INFINITY
  #cancelTick: (() => void) | undefined
  /** The last renewal has no answer. */
  #isUnanswered = false

  constructor(services: KeeperServices, onStuck: (lease: HeldLease<Item>, run: TimedRun) => void) {
    const { renewEveryMs, leaseMs } = services.consumer
    this.#services = services
    this.#onStuck = onStuck
    this.#tickMs = Math.min(LONGEST_TICK_MS, Math.ceil(renewEveryMs / 2))
    this.#marginMs = leaseMarginMs(leaseMs)
  }

  /** A copy: handling one lease may end others. */
  get leases(): readonly HeldLease<Item>[] {
    return [...this.#kept]
  }

  /** `run` has begun, or begins now. */
  keep(lease: HeldLease<Item>, run?: TimedRun): HeldLease<Item> {
    lease.run = run
    lease.at = this.#kept.push(lease) - 1
    if (this.#cancelTick === undefined) this.#schedule(this.#abortAt(lease))
    else if (run !== undefined && this.#abortAt(lease) < this.#tickAt) {
      // The answer to the claim was slow, so the lease ends before the next tick.
      this.#cancelTick()
      this.#schedule(this.#abortAt(lease))
    }
    return lease
  }

  /** True if a handler that begins now, under a claim sent at `sentAt`, has time before its abort. */
  mayBegin(sentAt: MonotonicMs, now: MonotonicMs): boolean {
    return now < this.#abortAt({ sentAt })
  }

  release(lease: HeldLease<Item>): void {
    const { at } = lease
    if (at === undefined) return
    lease.at = undefined
    const last = this.#kept.pop()
    if (last === undefined || last === lease) return
    this.#kept[at] = last
    last.at = at
  }

  /** Lets all leases run out, and leaves no timer. */
  close(): void {
    for (const lease of this.#kept.splice(0)) lease.at = undefined
    this.#cancelTick?.()
    this.#cancelTick = undefined
  }

  #abortAt({ sentAt }: Pick<HeldLease<Item>, 'sentAt'>): MonotonicMs {
    const leaseUntil = sentAt + this.#services.consumer.leaseMs
    return leaseUntil - this.#marginMs // mutant: abort-at-the-end-of-the-lease
  }

  /** At the next tick, or at `abortAt` if that is earlier. */
  #schedule(abortAt: MonotonicMs): void {
    const { clock } = this.#services
    const now = clock.monotonic()
    this.#tickAt = Math.min(now + this.#tickMs, Math.max(now, abortAt))
    this.#cancelTick = clock.after(Math.ceil(this.#tickAt - now), () => {
      this.#cancelTick = undefined
      if (this.#kept.length === 0) return
      const firstAbortAt = this.#watchTime()
      void this.#renew()
      this.#schedule(firstAbortAt)
    })
  }

  /** Returns when the first function that goes on must be aborted for its lease. */
  #watchTime(): MonotonicMs {
    const { consumer, clock } = this.#services
    const now = clock.monotonic()
    let first = Number.POSITIVE_INFINITY
    for (const lease of this.leases) {
      const { run } = lease
      // An ended run waits for its mark and no longer uses its signal.
      if (run?.state !== 'running') continue
      const ranMs = run.ranMs(now)
      if (now >= this.#abortAt(lease)) {
        lease.isOutlived ||= this.#mayOutlive
        if (!lease.isOutlived) run.abort(new LeaseLostError('LEASE_LOST', 'the lease could not be renewed in time'))
      }
      if (ranMs >= consumer.handlerTimeoutMs) {
        run.abort(
          new LeaseLostError(
            'HANDLER_TIMEOUT',
            `the handler ran longer than ${durationText(consumer.handlerTimeoutMs)}`,
          ),
        )
      }
      // After the grace period nobody waits for the handler. Its lease runs out, so that the store can report the
      // message as in doubt.
      if (ranMs >= consumer.handlerTimeoutMs + consumer.graceMs) this.#onStuck(lease, run)
      if (!run.isAborted && !lease.isOutlived) first = Math.min(first, this.#abortAt(lease))
    }
    return first
  }

  /** Then only an answer of the store that another owner has the message aborts a function. */
  get #mayOutlive(): boolean {
    const { consumer, store } = this.#services
    return consumer.onStoreDown === 'run-unprotected' && (store.isDown || this.#isUnanswered)
  }

  async #renew(): Promise<void> {
    const { consumer, clock, store } = this.#services
    const sentAt = clock.monotonic()
    // A lease is due if it would be overdue at the next tick. A call in flight is not repeated.
    const due = this.#kept.filter(
      (lease) => lease.state === 'held' && sentAt + this.#tickMs - lease.sentAt > consumer.renewEveryMs,
    )
    if (due.length === 0) return // mutant: renew-never
    for (const lease of due) lease.state = 'renewing'
    const verdicts = await store.renew(due.flatMap(({ claims }) => claims))
    this.#isUnanswered = verdicts.length === 0
    let at = 0
    for (const lease of due) {
      const count = lease.claims.length
      const own = verdicts.slice(at, at + count)
      at += count
      lease.state = 'held'
      if (own.length === count && own.every((verdict) => verdict === 'renewed')) {
        lease.sentAt = sentAt
      } else if (own.includes('lost') && lease.run?.state === 'running') {
        lease.state = 'lost'
        lease.run.abort(new LeaseLostError('LEASE_LOST', 'another owner has the message'))
      }
    }
  }
}
