import type { DurationMs, MonotonicMs } from '../core/units.ts'
import { PURGE } from '../pipeline/store/purger.ts'
import type { Clock } from '../ports/clock.ts'
import type { Purged } from '../ports/store-admin.ts'
import type { Store } from '../ports/store.ts'

/** The first batch of a scope: small, because the process may be about to end. */
const FIRST_BATCH = 500
/** After the first batch there is time. */
const NEXT_MS: DurationMs = 5 * 60_000
/** Scopes that wait for a purge, or were purged lately. One takes about 200 bytes. */
const MOST_SCOPES = 1_000

interface Scope {
  /** The longest retention that a call has asked for. */
  keepMs: DurationMs
  dueAt: MonotonicMs
  batch: number
}

/**
 * Removes what `once` has kept for long enough, in stores that do not expire records on their own. A scope has its first
 * batch after its first call, so that processes that live for seconds purge too. No broker delivers again what was called
 * here, so nothing speaks against that. One scope at a time, with pauses: any number of scopes costs the store a few small
 * transactions a second. Does not keep the process alive.
 */
export class Purges {
  readonly #store: Store<unknown>
  readonly #scopes = new Map<string, Scope>()
  #cancel: (() => void) | undefined
  #isAtWork = false

  constructor(store: Store<unknown>) {
    this.#store = store
  }

  /** How many scopes it remembers. */
  get size(): number {
    return this.#scopes.size
  }

  /** A call of the scope has ended. */
  used(scope: string, keepMs: DurationMs, clock: Clock): void {
    const { admin } = this.#store
    if (admin === undefined || admin.forgetsByItself === true) return
    const known = this.#scopes.get(scope)
    if (known !== undefined) {
      known.keepMs = Math.max(known.keepMs, keepMs)
      return
    }
    const now = clock.monotonic()
    if (!this.#hasRoom(now)) return
    this.#scopes.set(scope, { keepMs, dueAt: now, batch: FIRST_BATCH })
    this.#next(clock)
  }

  /** A scope that was purged makes room. One that still waits keeps its place: a newcomer has its turn later. */
  #hasRoom(now: MonotonicMs): boolean {
    if (this.#scopes.size < MOST_SCOPES) return true
    for (const [scope, { dueAt }] of this.#scopes) if (dueAt > now) return this.#scopes.delete(scope)
    return false
  }

  /** One timer for all scopes. */
  #next(clock: Clock, leastMs: DurationMs = 0): void {
    if (this.#isAtWork) return
    this.#cancel?.()
    let first: [string, Scope] | undefined
    for (const entry of this.#scopes) if (first === undefined || entry[1].dueAt < first[1].dueAt) first = entry
    if (first === undefined) return
    const [name, scope] = first
    const delayMs = Math.max(leastMs, scope.dueAt - clock.monotonic())
    this.#cancel = clock.after(Math.ceil(delayMs), () => void this.#purge(name, scope, clock), { background: true })
  }

  async #purge(name: string, scope: Scope, clock: Clock): Promise<void> {
    this.#isAtWork = true
    const { removed, more } = await this.#batch(name, scope)
    this.#isAtWork = false
    const pauseMs = scope.batch === FIRST_BATCH ? NEXT_MS : PURGE.pauseMs
    scope.dueAt = clock.monotonic() + (more && removed > 0 ? pauseMs : PURGE.everyMs)
    scope.batch = PURGE.batch
    this.#next(clock, PURGE.pauseMs)
  }

  /** If the store does not answer, the next round comes later. */
  async #batch(name: string, { keepMs: retentionMs, batch: limit }: Scope): Promise<Purged> {
    try {
      return (await this.#store.admin?.purge(name, { retentionMs, limit })) ?? { removed: 0, more: false }
    } catch {
      return { removed: 0, more: false }
    }
  }
}
