import type { DurationMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'

/** Pauses between tries. All end at once when the pipeline stops waiting. */
export class Pauses {
  readonly #clock: Clock
  readonly #finishers = new Set<() => void>()
  #areOver = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get areOver(): boolean {
    return this.#areOver
  }

  pause(delayMs: DurationMs): Promise<void> {
    if (this.#areOver) return Promise.resolve()
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel()
        this.#finishers.delete(finish)
        resolve()
      }
      const cancel = this.#clock.after(delayMs, finish)
      this.#finishers.add(finish)
    })
  }

  /** Ends the pauses of this moment. */
  skip(): void {
    for (const finish of this.#finishers) finish()
  }

  end(): void {
    this.#areOver = true
    this.skip()
  }
}
