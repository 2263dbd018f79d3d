import { LeaseLostError } from '../errors.ts'
import type { HandlerRun } from './handler-run.ts'
import type { Desk } from './runner.ts'

/** The keeper looks at its runs this often at least; only while there are any. */
const LONGEST_TICK_MS = 500

/**
 * Renews the leases of running handlers, all in one call, and watches their time: it aborts a handler whose lease may be
 * over by the local clock, or that is past its timeout, and reports one that stays deaf. One timer for all runs.
 */
export class LeaseKeeper {
  readonly #desk: Desk
  readonly #onStuck: (run: HandlerRun) => void
  /** Each knows its place here: adding and taking out are done for every message. */
  readonly #kept: HandlerRun[] = []
  readonly #tickMs: number
  #cancelTick: (() => void) | undefined

  constructor(desk: Desk, onStuck: (run: HandlerRun) => void) {
    this.#desk = desk
    this.#onStuck = onStuck
    this.#tickMs = Math.min(LONGEST_TICK_MS, Math.ceil(desk.consumer.renewEveryMs / 2))
  }

  /** As it is now: what is done with one may end others. */
  get runs(): readonly HandlerRun[] {
    return [...this.#kept]
  }

  keep(run: HandlerRun): void {
    run.keptAt = this.#kept.push(run) - 1
    if (this.#cancelTick === undefined) this.#schedule()
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

  #schedule(): void {
    this.#cancelTick = this.#desk.clock.after(this.#tickMs, () => {
      this.#cancelTick = undefined
      if (this.#kept.length === 0) return
      this.#watchTime()
      void this.#renew()
      this.#schedule()
    })
  }

  #watchTime(): void {
    const { consumer, clock } = this.#desk
    const now = clock.monotonic()
    for (const run of this.runs) {
      // What has ended waits for its mark, and asks nothing of its signal any more.
      if (run.hasEnded) continue
      const ranMs = run.startedAt === undefined ? 0 : now - run.startedAt
      if (now >= run.leaseUntil) run.abort(new LeaseLostError('LEASE_LOST', 'the lease could not be renewed in time'))
      if (ranMs >= consumer.handlerTimeoutMs) {
        run.abort(new LeaseLostError('HANDLER_TIMEOUT', `the handler ran longer than ${consumer.handlerTimeoutMs} ms`))
      }
      // Past the grace nobody waits for it: its lease is left to run out, so that the store can say what is in doubt.
      if (ranMs >= consumer.handlerTimeoutMs + consumer.graceMs) this.#onStuck(run)
    }
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
