import type { Clock } from '../ports/clock.ts'

/** Steps of one turn at most, and about how long they may take together: timers, sockets and heartbeats wait behind them. */
const MOST_IN_A_TURN = 250
const LONGEST_TURN_MS = 5

/**
 * Much work in small steps: as many as one turn of the event loop should bear are done at once, the others in the turns that
 * follow. Steps cost a clock and no timer, and no turn is asked for before so many have been done.
 */
export class Slices {
  readonly #clock: Clock
  readonly #step: () => boolean
  #steps = 0
  #spentMs = 0
  #isRunning = false
  #isScheduled = false

  /** `step` does the next piece of work; `false`: there is none that can be done now. */
  constructor(clock: Clock, step: () => boolean) {
    this.#clock = clock
    this.#step = step
  }

  /** There is work: does what this turn can still bear. A step may call it. */
  run(): void {
    if (this.#isRunning || this.#isScheduled) return
    this.#isRunning = true
    const began = this.#clock.monotonic() - this.#spentMs
    try {
      while (this.#step()) {
        this.#steps++
        this.#spentMs = this.#clock.monotonic() - began
        if (this.#steps >= MOST_IN_A_TURN || this.#spentMs >= LONGEST_TURN_MS) return this.later()
      }
    } finally {
      this.#isRunning = false
    }
  }

  /** There is work, and whoever says so is in the middle of something: does it in the next turn. */
  later(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#clock.nextTurn(() => {
      this.#isScheduled = false
      this.#steps = 0
      this.#spentMs = 0
      this.run()
    })
  }
}
