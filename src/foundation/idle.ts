import type { DurationMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'

/**
 * Lets go of what nobody has used for a while, such as a connection, so that it does not keep a process alive. One timer
 * for a time of use, none for each use; it keeps no process alive itself.
 */
export class Idle {
  readonly #clock: Clock
  readonly #idleMs: DurationMs
  readonly #letGo: () => void
  #users = 0
  #lastUse: MonotonicMs = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock, idleMs: DurationMs, letGo: () => void) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#letGo = letGo
  }

  /** Uses that have not ended. */
  get users(): number {
    return this.#users
  }

  begin(): void {
    this.#users++
  }

  end(): void {
    this.#users--
    this.#lastUse = this.#clock.monotonic()
    if (this.#cancel === undefined) this.#lookAfter(this.#idleMs)
  }

  /** It lets go of nothing any more, unless it is used again. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #lookAfter(ms: DurationMs): void {
    this.#cancel = this.#clock.after(ms, () => this.#look(), { background: true })
  }

  #look(): void {
    this.#cancel = undefined
    // The end of a use looks again.
    if (this.#users > 0) return
    const leftMs = this.#lastUse + this.#idleMs - this.#clock.monotonic()
    if (leftMs > 0) this.#lookAfter(leftMs)
    else this.#letGo()
  }
}
