import type { DurationMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'

/** How long a call waits for its claim: until a deadline, or until its caller's signal aborts. */
export class Wait {
  readonly #clock: Clock
  readonly #signal: AbortSignal | undefined
  readonly #until: MonotonicMs

  constructor(clock: Clock, limitMs: DurationMs, signal: AbortSignal | undefined) {
    this.#clock = clock
    this.#signal = signal
    this.#until = clock.monotonic() + limitMs
  }

  /** Until the deadline. */
  get leftMs(): DurationMs {
    return Math.max(0, Math.ceil(this.#until - this.#clock.monotonic()))
  }

  /** @throws the reason of the caller's signal, if that has aborted */
  check(): void {
    this.#signal?.throwIfAborted()
  }

  /**
   * Resolves with what `event` gives; with `undefined` after `mostMs`, at the deadline, or when the signal aborts. It
   * never rejects, and leaves no timer.
   */
  for<T>(mostMs: DurationMs, event?: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve) => {
      const end = (value?: T): void => {
        forget()
        resolve(value)
      }
      const forget = this.onEnd(mostMs, () => end())
      event?.then(end, () => end())
    })
  }

  /** Calls `fn` after `mostMs`, at the deadline, or when the signal aborts, whichever is first. Returns what cancels it. */
  onEnd(mostMs: DurationMs, fn: () => void): () => void {
    const cancel = this.#clock.after(Math.min(mostMs, this.leftMs), fn)
    this.#signal?.addEventListener('abort', fn)
    if (this.#signal?.aborted === true) queueMicrotask(fn)
    return () => {
      cancel()
      this.#signal?.removeEventListener('abort', fn)
    }
  }
}
