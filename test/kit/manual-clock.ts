import type { Clock } from '../../src/ports/clock.ts'

interface Timer {
  readonly at: number
  readonly fn: () => void
}

/** Time that moves only by `advance()`. Turns of the event loop stay real. */
export class ManualClock implements Clock {
  #elapsedMs = 0
  readonly #timers = new Set<Timer>()

  now(): number {
    return 1_700_000_000_000 + this.#elapsedMs
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  after(delayMs: number, fn: () => void): () => void {
    const timer = { at: this.#elapsedMs + Math.max(1, delayMs), fn }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  nextTurn(fn: () => void): void {
    setImmediate(fn)
  }

  /** Timers that are set: none may stay behind a stop. */
  get pending(): number {
    return this.#timers.size
  }

  /** Moves on, timer by timer, and lets what each one wakes come to rest. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsedMs + ms
    await turns()
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer)
      this.#elapsedMs = Math.max(this.#elapsedMs, timer.at)
      timer.fn()
      await turns()
    }
    this.#elapsedMs = end
  }

  /** Moves on without a timer running: the process was paused. */
  skip(ms: number): void {
    this.#elapsedMs += ms
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.at <= end && (first === undefined || timer.at < first.at)) first = timer
    }
    return first
  }
}

/** Turns of the event loop: enough for what waits for nothing but promises and the next turn. */
export async function turns(most: number = 12): Promise<void> {
  for (let turn = 0; turn < most; turn++) await new Promise<void>((resolve) => void setImmediate(resolve))
}
