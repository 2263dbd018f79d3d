import type { Digest, Result } from '../core/record.ts'
import { StoreError } from '../foundation/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { Call, type Answered, type OnceWork } from './call.ts'
import { busyError } from './lost.ts'
import type { OnceSettings } from './options.ts'
import { Purges } from './purges.ts'
import { deadlinesOn, type OnceDeadlines } from './run.ts'
import { Turns } from './turns.ts'
import { Wait } from './wait.ts'

/** A call that others of this process wait for. */
interface Flight {
  readonly digest: Digest
  /** Resolves with what it has kept; `undefined`: it had no answer, and the next call may run. */
  readonly ended: Promise<Result | undefined>
}

/** How many timers stay for later calls with the same times. */
const MOST_IDLE = 16

interface Used {
  readonly deadlines: OnceDeadlines
  users: number
}

const perStore = new WeakMap<object, Calls>()

/** All calls of this process on one store share their leases and wait for each other. */
export function callsOn(store: Store<unknown>): Calls {
  const known = perStore.get(store)
  if (known !== undefined) return known
  const calls = new Calls(store)
  perStore.set(store, calls)
  return calls
}

/** The calls on one store: at most one of a key at a time (single flight), and one timer for all leases. */
class Calls {
  readonly #store: Store<unknown>
  readonly #flights = new Map<string, Flight>()
  /** By clock and times. */
  readonly #deadlines = new Map<Clock, Map<string, Used>>()
  readonly #purges: Purges
  readonly #turns = new Turns()
  #opening: Promise<void> | undefined

  constructor(store: Store<unknown>) {
    this.#store = store
    this.#purges = new Purges(store)
  }

  /** How much is kept between calls. Nothing of it may grow with their number. */
  get kept(): { readonly flights: number; readonly deadlines: number; readonly scopes: number } {
    let deadlines = 0
    for (const { size } of this.#deadlines.values()) deadlines += size
    return { flights: this.#flights.size, deadlines, scopes: this.#purges.size }
  }

  /** A duplicate waits in this process, not at the store: on an inbox it would hold a connection. */
  async answer(settings: OnceSettings, work: OnceWork): Promise<Answered> {
    const { clock, waitMs, signal, idempotencyKey, whenBusy, digest } = settings
    signal?.throwIfAborted()
    const wait = new Wait(clock, waitMs, signal)
    await wait.bound(this.#open(), notOpen)
    for (;;) {
      wait.check()
      const flight = this.#flights.get(idempotencyKey)
      if (flight === undefined) return this.#fly(settings, work, wait)
      if (whenBusy === 'refuse' || wait.leftMs === 0) throw busyError()
      const kept = await wait.for(wait.leftMs, flight.ended)
      // With another payload the store decides: the first payload that arrived here may be the wrong one.
      if (kept !== undefined && digest === flight.digest) return { kept, isReplayed: true }
    }
  }

  async #fly(settings: OnceSettings, work: OnceWork, wait: Wait): Promise<Answered> {
    const { idempotencyKey, digest } = settings
    let land: ((kept: Result | undefined) => void) | undefined
    const ended = new Promise<Result | undefined>((resolve) => {
      land = resolve
    })
    this.#flights.set(idempotencyKey, { digest, ended })
    let kept: Result | undefined
    const used = this.#use(settings)
    try {
      const answered = await new Call({
        store: this.#store,
        deadlines: used.deadlines,
        settings,
        work,
        wait,
        turns: this.#turns,
      }).answer()
      kept = answered.kept
      return answered
    } finally {
      used.done()
      this.#flights.delete(idempotencyKey)
      land?.(kept)
      const { scope, retentionMs, purge, clock } = settings
      if (purge !== 'never') this.#purges.used(scope, retentionMs, clock)
    }
  }

  /** After a failure the next call tries again. */
  #open(): Promise<void> {
    if (this.#opening !== undefined) return this.#opening
    const opening = this.#store.open()
    this.#opening = opening
    opening.catch(() => {
      this.#opening = undefined
    })
    return opening
  }

  /** Calls with the same times share one timer. Times may differ in each call, so only a few are kept between calls. */
  #use(settings: OnceSettings): { readonly deadlines: OnceDeadlines; readonly done: () => void } {
    const { clock, leaseMs, renewEveryMs, handlerTimeoutMs, graceMs } = settings
    const byTimes = this.#deadlines.get(clock) ?? new Map<string, Used>()
    const times = [leaseMs, handlerTimeoutMs, graceMs].join()
    const newDeadlines = (): OnceDeadlines =>
      deadlinesOn(this.#store, clock, { leaseMs, renewEveryMs, handlerTimeoutMs, graceMs })
    const used = byTimes.get(times) ?? { deadlines: newDeadlines(), users: 0 }
    used.users++
    byTimes.set(times, used)
    this.#deadlines.set(clock, byTimes)
    const done = (): void => {
      if (--used.users > 0 || this.kept.deadlines <= MOST_IDLE) return
      byTimes.delete(times)
      if (byTimes.size === 0) this.#deadlines.delete(clock)
    }
    return { deadlines: used.deadlines, done }
  }
}

function notOpen(): StoreError {
  return new StoreError('STORE_UNREACHABLE', 'the store did not open in time; the function was not called')
}
