import type { DurationMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'

type Timers = Pick<Clock, 'monotonic' | 'after'>

/** How long a call waits for its claim: until a deadline, or until its caller's signal aborts. */
export class Wait {
  readonly #clock: Timers
  readonly #signal: AbortSignal | undefined
  readonly #until: MonotonicMs

  constructor(clock: Timers, limitMs: DurationMs, signal: AbortSignal | undefined) {
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

  /**
   * As `work`, but rejects at the deadline, or when the signal aborts. `work` goes on.
   *
   * @throws (rejects) what `late` makes, or the reason of the signal
   */
  async bound<T>(work: Promise<T>, late: () => Error): Promise<T> {
    const ended = work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    const end = await this.for(this.leftMs, ended)
    if (end === undefined) {
      this.check()
      throw late()
    }
    if ('error' in end) throw end.error
    return end.value
  }

  /** Calls `fn` once: after `mostMs`, at the deadline, or when the signal aborts. Returns what cancels it. */
  onEnd(mostMs: DurationMs, fn: () => void): () => void {
    const cancel = this.#clock.after(Math.min(mostMs, this.leftMs), () => end())
    const forget = this.onAbort(() => end())
    const end = (): void => {
      cancel()
      forget()
      fn()
    }
    return () => {
      cancel()
      forget()
    }
  }

  /** Calls `fn` once, when the signal aborts or if it has aborted. Returns what cancels it. */
  onAbort(fn: () => void): () => void {
    const signal = this.#signal
    if (signal === undefined) return () => {}
    let isCancelled = false
    const aborted = (): void => {
      if (!isCancelled) fn()
    }
    if (signal.aborted) queueMicrotask(aborted)
    else signal.addEventListener('abort', aborted, { once: true })
    return () => {
      isCancelled = true
      signal.removeEventListener('abort', aborted)
    }
  }
}
