import type { Clock } from '../../ports/clock.ts'
import type { Moment } from '../times.ts'

/**
 * Most steps in one turn, and about how long they may take together. Timers, sockets and heartbeats wait until they are
 * done.
 */
const MOST_IN_A_TURN = 250
const LONGEST_TURN_MS = 5

/**
 * Divides long work into small steps. It runs as many at once as one turn of the event loop should bear, and the rest
 * in the following turns. A step costs one clock reading and no timer; short work needs no further turn.
 */
export class Slices {
  readonly #clock: Clock
  readonly #step: () => boolean
  #steps = 0
  #spentMs = 0
  #turn: Moment = { at: 0 }
  #isRunning = false
  #isScheduled = false

  /** `step` does the next piece of work; it returns `false` if there is none to do now. */
  constructor(clock: Clock, step: () => boolean) {
    this.#clock = clock
    this.#step = step
  }

  /** When the steps of this turn began. */
  get turn(): Moment {
    return this.#turn
  }

  /** There is work: runs as many steps as this turn can still bear. A step may call it. */
  run(): void {
    if (this.#isRunning || this.#isScheduled) return
    this.#isRunning = true
    this.#turn = { at: this.#clock.monotonic() }
    const began = this.#turn.at - this.#spentMs
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

  /** There is work, but the caller is busy: runs it in the next turn. */
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
