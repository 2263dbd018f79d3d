import { leaseMarginMs } from '../core/lease-margin.ts'
import type { MonotonicMs } from '../core/units.ts'
import { LeaseLostError } from '../errors.ts'
import type { HandlerRun } from './handler-run.ts'
import type { Desk } from './runner.ts'

/** Longest interval between two checks of the runs. There is no timer without runs. */
const LONGEST_TICK_MS = 500

/**
 * Renews the leases of running handlers in one call, and watches their time. It aborts a handler shortly before its
 * lease ends, or when it exceeds its timeout, and reports a handler that ignores the abort. One timer serves all runs;
 * it fires at each tick, or earlier if a lease could end before the next tick.
 */
export class LeaseKeeper {
  readonly #desk: Desk
  readonly #onStuck: (run: HandlerRun) => void
  /** Each run knows its index, because runs are added and removed for every message. */
  readonly #kept: HandlerRun[] = []
  readonly #tickMs: number
  readonly #marginMs: number
  /** When the timer fires. */
  #tickAt: MonotonicMs = Number.POSITIVE_INFINITY
  #cancelTick: (() => void) | undefined

  constructor(desk: Desk, onStuck: (run: HandlerRun) => void) {
    this.#desk = desk
    this.#onStuck = onStuck
    this.#tickMs = Math.min(LONGEST_TICK_MS, Math.ceil(desk.consumer.renewEveryMs / 2))
    this.#marginMs = leaseMarginMs(desk.consumer.leaseMs)
  }

  /** A copy: handling one run may end others. */
  get runs(): readonly HandlerRun[] {
    return [...this.#kept]
  }

  keep(run: HandlerRun): void {
    run.keptAt = this.#kept.push(run) - 1
    if (this.#cancelTick === undefined) this.#schedule(run.leaseUntil)
    else if (!run.hasEnded && this.#abortAt(run) < this.#tickAt) {
      // The answer to the claim was slow, so the lease ends before the next tick.
      this.#cancelTick()
      this.#schedule(run.leaseUntil)
    }
  }

  /** True if a handler that begins now has time before its abort. */
  mayBegin(leaseUntil: MonotonicMs, now: MonotonicMs): boolean {
    return now < leaseUntil - this.#marginMs
  }

  release(run: HandlerRun): void {
    const at = run.keptAt
    if (at === undefined) return
    run.keptAt = undefined
    const last = this.#kept.pop()
    if (last === undefined || last === run) return
    this.#kept[at] = last
    last.keptAt = at
  }

  /** Lets all leases run out, and leaves no timer. */
  close(): void {
    for (const run of this.#kept.splice(0)) run.keptAt = undefined
    this.#cancelTick?.()
    this.#cancelTick = undefined
  }

  #abortAt({ leaseUntil }: HandlerRun): MonotonicMs {
    return leaseUntil - this.#marginMs // mutant: abort-at-the-end-of-the-lease
  }

  /** At the next tick, or right before `leaseUntil` if that is earlier. */
  #schedule(leaseUntil: MonotonicMs): void {
    const { clock } = this.#desk
    const now = clock.monotonic()
    this.#tickAt = Math.min(now + this.#tickMs, Math.max(now, leaseUntil - this.#marginMs))
    this.#cancelTick = clock.after(Math.ceil(this.#tickAt - now), () => {
      this.#cancelTick = undefined
      if (this.#kept.length === 0) return
      const firstLeaseUntil = this.#watchTime()
      void this.#renew()
      this.#schedule(firstLeaseUntil)
    })
  }

  /** Returns the earliest end of a lease under which a handler goes on. */
  #watchTime(): MonotonicMs {
    const { consumer, clock } = this.#desk
    const now = clock.monotonic()
    let first = Number.POSITIVE_INFINITY
    for (const run of this.runs) {
      // An ended run waits for its mark and no longer uses its signal.
      if (run.hasEnded) continue
      const ranMs = run.startedAt === undefined ? 0 : now - run.startedAt
      if (now >= this.#abortAt(run))
        run.abort(new LeaseLostError('LEASE_LOST', 'the lease could not be renewed in time'))
      if (ranMs >= consumer.handlerTimeoutMs) {
        run.abort(new LeaseLostError('HANDLER_TIMEOUT', `the handler ran longer than ${consumer.handlerTimeoutMs} ms`))
      }
      // After the grace period nobody waits for the handler. Its lease runs out, so that the store can report the
      // message as in doubt.
      if (ranMs >= consumer.handlerTimeoutMs + consumer.graceMs) this.#onStuck(run)
      if (!run.isAborted) first = Math.min(first, run.leaseUntil)
    }
    return first
  }

  async #renew(): Promise<void> {
    const { consumer, clock } = this.#desk
    const sentAt = clock.monotonic()
    // A lease is due if it would be overdue at the next tick. A call in flight is not repeated.
    const due = this.#kept.filter(
      ({ isLost, isRenewing, renewedAt }) =>
        !isLost && !isRenewing && sentAt + this.#tickMs - renewedAt > consumer.renewEveryMs,
    )
    if (due.length === 0) return // mutant: renew-never
    const claims = due.flatMap((run) => run.claims)
    for (const run of due) run.isRenewing = true
    try {
      const verdicts = await consumer.store.renew(claims, consumer.leaseMs)
      let at = 0
      for (const run of due) {
        const own = verdicts.slice(at, at + run.claims.length)
        at += run.claims.length
        if (own.length === run.claims.length && own.every((verdict) => verdict === 'renewed')) {
          run.renewedAt = sentAt
          run.leaseUntil = sentAt + consumer.leaseMs
        } else if (own.includes('lost') && !run.hasEnded) {
          run.isLost = true
          run.abort(new LeaseLostError('LEASE_LOST', 'another owner has the message'))
        }
      }
    } catch {
      // The answer is unknown. The next tick renews again; without an answer in time, the local deadline aborts the
      // handler.
    } finally {
      for (const run of due) run.isRenewing = false
    }
  }
}
