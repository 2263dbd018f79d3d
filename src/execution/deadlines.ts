import { dueOf, nextDueAt, type Limits } from '../core/deadline.ts'
import { durationText } from '../core/duration-text.ts'
import { leaseMarginMs } from '../core/lease-margin.ts'
import type { RenewVerdict, Result } from '../core/record.ts'
import type { MonotonicMs } from '../core/units.ts'
import { LeaseLostError } from '../foundation/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Claim } from '../ports/store.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import { claimsOf, type Claims } from './claims.ts'
import type { TimedRun } from './timed-run.ts'

/** Longest interval between two looks. There is no timer while nothing is held. */
const LONGEST_TICK_MS = 500

/** `sentAt` of what has no lease: only the time of its function is watched. */
export const WITHOUT_LEASE: MonotonicMs = Number.POSITIVE_INFINITY

export type OnStuck<Item extends Claims> = (held: Held<Item>, run: TimedRun) => void

/** Messages, a call or a lock, with the function that runs for them: until their mark, release or set-aside, if they are claimed. */
export class Held<Item extends Claims> {
  readonly items: readonly Item[]
  /** The user's function. Without one the lease is only renewed. */
  run: TimedRun | undefined
  /** The result or failure to keep with the mark of a single message. */
  kept: Result | undefined
  /** Used by `Deadlines` only: when the granting claim or the last successful renewal was sent. */
  sentAt: MonotonicMs
  /** Used by `Deadlines` only. `lost`: another owner has the key. */
  state: 'held' | 'renewing' | 'lost' = 'held'
  /** The lease ended while the store did not answer, and its function went on (`onStoreDown: 'run-unprotected'`). */
  isOutlived = false
  /** Its function is past its timeout and ignores its signal. */
  readonly onStuck: OnStuck<Item> | undefined
  /** Used by `Deadlines` only: its index, because one is added and removed for every message. */
  at: number | undefined

  constructor(items: readonly Item[], sentAt: MonotonicMs, onStuck?: OnStuck<Item>) {
    this.items = items
    this.sentAt = sentAt
    this.onStuck = onStuck
    this.run = undefined
    this.kept = undefined
    this.at = undefined
  }

  get claims(): readonly Claim[] {
    return claimsOf(this.items)
  }
}

interface DeadlineServices {
  readonly consumer: Limits & Pick<ResolvedConsumer, 'leaseMs' | 'renewEveryMs' | 'onStoreDown'>
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  readonly store: {
    readonly isDown: boolean
    /** Resolves with nothing without an answer. Never rejects. */
    renew(claims: readonly Claim[]): Promise<readonly RenewVerdict[]>
  }
}

/**
 * Watches the time of the user's functions, and renews the leases under which they run, in one call. A function is
 * aborted shortly before its lease ends, and when it takes too long; one that ignores the abort is reported. One timer
 * serves all; it fires at each tick, or earlier if something is due before the next tick.
 */
export class Deadlines<Item extends Claims> {
  readonly #services: DeadlineServices
  readonly #held: Held<Item>[] = []
  readonly #tickMs: number
  readonly #marginMs: number
  /** When the timer fires. */
  #tickAt: MonotonicMs = Number.POSITIVE_INFINITY
  #cancelTick: (() => void) | undefined
  /** The last renewal has no answer. */
  #isUnanswered = false

  constructor(services: DeadlineServices) {
    const { renewEveryMs, leaseMs } = services.consumer
    this.#services = services
    this.#tickMs = Math.min(LONGEST_TICK_MS, Math.ceil(renewEveryMs / 2))
    this.#marginMs = leaseMarginMs(leaseMs)
  }

  /** A copy: handling one may end others. */
  get all(): readonly Held<Item>[] {
    return [...this.#held]
  }

  /** `run` has begun. */
  keep(held: Held<Item>, run?: TimedRun): Held<Item> {
    held.run = run
    held.at = this.#held.push(held) - 1
    const dueAt = run === undefined ? Number.POSITIVE_INFINITY : this.#firstDueAt(held, run)
    if (this.#cancelTick === undefined) this.#schedule(dueAt)
    else if (dueAt < this.#tickAt) {
      // The answer to the claim was slow, so the lease ends before the next tick; or the limit is shorter than a tick.
      this.#cancelTick()
      this.#schedule(dueAt)
    }
    return held
  }

  /** True if a handler that begins now, under a claim sent at `sentAt`, has time before its abort. */
  mayBegin(sentAt: MonotonicMs, now: MonotonicMs): boolean {
    return now < this.#leaseEndsAt({ sentAt })
  }

  release(held: Held<Item>): void {
    const { at } = held
    if (at === undefined) return
    held.at = undefined
    const last = this.#held.pop()
    if (last === undefined || last === held) return
    this.#held[at] = last
    last.at = at
  }

  /** Aborts the functions under way: all, or those whose items are meant. */
  abort(reason: Error, isMeant?: (items: readonly Item[]) => boolean): void {
    for (const { run, items } of this.all) if (isMeant?.(items) ?? true) run?.abort(reason)
  }

  /** Lets all leases run out, and leaves no timer. */
  close(): void {
    for (const held of this.#held.splice(0)) held.at = undefined
    this.#cancelTick?.()
    this.#cancelTick = undefined
  }

  #leaseEndsAt({ sentAt, isOutlived = false }: Pick<Held<Item>, 'sentAt'> & { isOutlived?: boolean }): MonotonicMs {
    if (isOutlived) return Number.POSITIVE_INFINITY
    const leaseUntil = sentAt + this.#services.consumer.leaseMs
    return leaseUntil - this.#marginMs // mutant: abort-at-the-end-of-the-lease
  }

  #firstDueAt(held: Held<Item>, { startedAt }: TimedRun): MonotonicMs {
    return Math.min(this.#leaseEndsAt(held), startedAt + this.#services.consumer.handlerTimeoutMs)
  }

  /** At the next tick, or at `dueAt` if that is earlier. */
  #schedule(dueAt: MonotonicMs): void {
    const { clock } = this.#services
    const now = clock.monotonic()
    this.#tickAt = Math.min(now + this.#tickMs, Math.max(now, dueAt))
    this.#cancelTick = clock.after(Math.ceil(this.#tickAt - now), () => {
      this.#cancelTick = undefined
      if (this.#held.length === 0) return
      const firstDueAt = this.#watchTime()
      void this.#renew()
      this.#schedule(firstDueAt)
    })
  }

  /** Returns when something is due next. */
  #watchTime(): MonotonicMs {
    const { consumer, clock } = this.#services
    const now = clock.monotonic()
    let first = Number.POSITIVE_INFINITY
    for (const held of this.all) {
      const { run } = held
      // An ended run waits for its mark and no longer uses its signal.
      if (run?.state !== 'running') continue
      this.#act(held, run, now)
      if (run.state !== 'running') continue
      const { startedAt, isAborted } = run
      const leaseEndsAt = this.#leaseEndsAt(held)
      first = Math.min(first, nextDueAt({ startedAt, leaseEndsAt, isAborted }, now, consumer))
    }
    return first
  }

  #act(held: Held<Item>, run: TimedRun, now: MonotonicMs): void {
    const { consumer } = this.#services
    const due = dueOf({ startedAt: run.startedAt, leaseEndsAt: this.#leaseEndsAt(held) }, now, consumer)
    switch (due) {
      case 'nothing':
        return
      case 'lease-ends':
        held.isOutlived = this.#mayOutlive
        if (held.isOutlived) this.#act(held, run, now)
        else run.abort(new LeaseLostError('LEASE_LOST', 'the lease could not be renewed in time'))
        return
      case 'takes-too-long':
        return run.abort(timeoutError(run, consumer))
      case 'ignores-abort':
        run.abort(timeoutError(run, consumer))
        // Nobody waits for it. Its lease runs out, so that the store can report the message as in doubt.
        return held.onStuck?.(held, run)
    }
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
    const due = this.#held.filter(
      (held) => held.state === 'held' && sentAt + this.#tickMs - held.sentAt > consumer.renewEveryMs,
    )
    if (due.length === 0) return // mutant: renew-never
    for (const held of due) held.state = 'renewing'
    const verdicts = await store.renew(due.flatMap(({ claims }) => claims))
    this.#isUnanswered = verdicts.length === 0
    let at = 0
    for (const held of due) {
      const count = held.claims.length
      const own = verdicts.slice(at, at + count)
      at += count
      held.state = 'held'
      if (own.length === count && own.every((verdict) => verdict === 'renewed')) {
        held.sentAt = sentAt
      } else if (own.includes('lost') && held.run?.state === 'running') {
        held.state = 'lost'
        held.run.abort(new LeaseLostError('LEASE_LOST', 'another owner has the key'))
      }
    }
  }
}

/** The only place that makes it. */
export function timeoutError(run: TimedRun, { handlerTimeoutMs }: Pick<Limits, 'handlerTimeoutMs'>): LeaseLostError {
  return new LeaseLostError('HANDLER_TIMEOUT', run.tooLong(durationText(handlerTimeoutMs)))
}
