import type { Digest, Result } from '../core/record.ts'
import { LeaseKeeper } from '../pipeline/store/lease-keeper.ts'
import { Purger } from '../pipeline/store/purger.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import { Call, busyError, type Answered, type OnceWork } from './call.ts'
import type { OnceSettings } from './options.ts'
import type { OnceItem, OnceKeeper } from './run.ts'
import { Wait } from './wait.ts'

/** A call that others of this process wait for. */
interface Flight {
  readonly digest: Digest
  /** Resolves with what it has kept; `undefined`: it had no answer, and the next call may run. */
  readonly ended: Promise<Result | undefined>
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
  readonly #keepers = new WeakMap<Clock, Map<string, OnceKeeper>>()
  readonly #purgers = new Map<string, Purger>()
  #opening: Promise<void> | undefined

  constructor(store: Store<unknown>) {
    this.#store = store
  }

  /** A duplicate waits in this process, not at the store: on an inbox it would hold a connection. */
  async answer(settings: OnceSettings, work: OnceWork): Promise<Answered> {
    const { clock, waitMs, signal, idempotencyKey, whenBusy, digest } = settings
    signal?.throwIfAborted()
    const wait = new Wait(clock, waitMs, signal)
    await this.#open()
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
    try {
      this.#startPurge(settings)
      const call = new Call({ store: this.#store, keeper: this.#keeperFor(settings), settings, work })
      const answered = await call.answer(wait)
      kept = answered.kept
      return answered
    } finally {
      this.#flights.delete(idempotencyKey)
      land?.(kept)
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

  #keeperFor({ clock, leaseMs, renewEveryMs, handlerTimeoutMs, graceMs }: OnceSettings): OnceKeeper {
    const byTimes = this.#keepers.get(clock) ?? new Map<string, OnceKeeper>()
    this.#keepers.set(clock, byTimes)
    const times = [leaseMs, handlerTimeoutMs, graceMs].join()
    const known = byTimes.get(times)
    if (known !== undefined) return known
    const keeper = new LeaseKeeper<OnceItem>(
      {
        consumer: { leaseMs, renewEveryMs, handlerTimeoutMs, graceMs, onStoreDown: 'pause' },
        clock,
        // Without an answer in time, the local deadline aborts the functions.
        store: { isDown: false, renew: (claims) => this.#store.renew(claims, leaseMs).catch(() => []) },
      },
      ({ items }) => {
        for (const { onStuck } of items) onStuck()
      },
    )
    byTimes.set(times, keeper)
    return keeper
  }

  /** By the longest retention that was asked for in the scope. */
  #startPurge({ scope, retentionMs, purge, clock }: OnceSettings): void {
    if (purge === 'never') return
    const known = this.#purgers.get(scope)
    if (known !== undefined) return known.keepFor(retentionMs)
    const purger = new Purger({ consumer: { store: this.#store, purge, retentionMs }, clock, observe: () => {} }, scope)
    this.#purgers.set(scope, purger)
    purger.start()
  }
}
