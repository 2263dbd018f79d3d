import { leaseMarginMs } from '../core/lease-margin.ts'
import type { MonotonicMs } from '../core/units.ts'
import { LeaseLostError } from '../errors.ts'
import type { HandlerRun } from './handler-run.ts'
import type { Desk } from './runner.ts'

/** The keeper looks at its runs this often at least; only while there are any. */
const LONGEST_TICK_MS = 500

/**
 * Renews the leases of running handlers, all in one call, and watches their time: it aborts a handler shortly before its lease
 * can end, or when it is past its timeout, and reports one that stays deaf. One timer for all runs: a tick, or earlier where the
 * lease of one could end before the next.
 */
export class LeaseKeeper {
  readonly #desk: Desk
  readonly #onStuck: (run: HandlerRun) => void
  /** Each knows its place here: adding and taking out are done for every message. */
  readonly #kept: HandlerRun[] = []
  readonly #tickMs: number
  readonly #marginMs: number
  /** When the timer goes off. */
  #tickAt: MonotonicMs = Number.POSITIVE_INFINITY
  #cancelTick: (() => void) | undefined

  constructor(desk: Desk, onStuck: (run: HandlerRun) => void) {
    this.#desk = desk
    this.#onStuck = onStuck
    this.#tickMs = Math.min(LONGEST_TICK_MS, Math.ceil(desk.consumer.renewEveryMs / 2))
    this.#marginMs = leaseMarginMs(desk.consumer.leaseMs)
  }

  /** As it is now: what is done with one may end others. */
  get runs(): readonly HandlerRun[] {
    return [...this.#kept]
  }

  keep(run: HandlerRun): void {
    run.keptAt = this.#kept.push(run) - 1
    if (this.#cancelTick === undefined) this.#schedule(run.leaseUntil)
    else if (!run.hasEnded && this.#abortAt(run) < this.#tickAt) {
      // Granted long ago: its answer was slow.
      this.#cancelTick()
      this.#schedule(run.leaseUntil)
    }
  }

  /** Whether a handler that begins now has time before it would be aborted. */
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
    return leaseUntil - this.#marginMs
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

  /** Answers with the earliest end of a lease under which a handler goes on. */
  #watchTime(): MonotonicMs {
    const { consumer, clock } = this.#desk
    const now = clock.monotonic()
    let first = Number.POSITIVE_INFINITY
    for (const run of this.runs) {
      // What has ended waits for its mark, and asks nothing of its signal any more.
      if (run.hasEnded) continue
      const ranMs = run.startedAt === undefined ? 0 : now - run.startedAt
      if (now >= this.#abortAt(run))
        run.abort(new LeaseLostError('LEASE_LOST', 'the lease could not be renewed in time'))
      if (ranMs >= consumer.handlerTimeoutMs) {
        run.abort(new LeaseLostError('HANDLER_TIMEOUT', `the handler ran longer than ${consumer.handlerTimeoutMs} ms`))
      }
      // Past the grace nobody waits for it: its lease is left to run out, so that the store can say what is in doubt.
      if (ranMs >= consumer.handlerTimeoutMs + consumer.graceMs) this.#onStuck(run)
      if (!run.isAborted) first = Math.min(first, run.leaseUntil)
    }
    return first
  }

  async #renew(): Promise<void> {
    const { consumer, clock } = this.#desk
    const sentAt = clock.monotonic()
    // Due is what would be overdue at the next tick; a call that is under way is not doubled.
    const due = this.#kept.filter(
      ({ isLost, isRenewing, renewedAt }) =>
        !isLost && !isRenewing && sentAt + this.#tickMs - renewedAt > consumer.renewEveryMs,
    )
    if (due.length === 0) return
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
      // Unknown: the next tick asks again, and the local deadline aborts if none is answered in time.
    } finally {
      for (const run of due) run.isRenewing = false
    }
  }
}
