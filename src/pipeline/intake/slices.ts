import type { Clock } from '../../ports/clock.ts'
import type { Moment } from '../times.ts'

/**
 * About how long the steps of one turn may take together. Timers, sockets and heartbeats wait until they are done. Their
 * number has no bound: messages of one turn are claimed together.
 */
const LONGEST_TURN_MS = 5

/**
 * Divides long work into small steps. It runs as many at once as one turn of the event loop should bear, and the rest
 * in the following turns. A step costs one clock reading and no timer.
 */
export class Slices {
  readonly #clock: Clock
  readonly #step: () => boolean
  #turn: Moment = { at: 0 }
  #spentMs = 0
  #isRunning = false
  /** Called at the end of this turn. */
  #isScheduled = false
  /** Nothing more runs in this turn, and the next one goes on. */
  #goesOn = false

  /** `step` does the next piece of work; it returns `false` if there is none to do now. */
  constructor(clock: Clock, step: () => boolean) {
    this.#clock = clock
    this.#step = step
  }

  /** This turn bears no more steps. */
  get isTurnOver(): boolean {
    return this.#goesOn
  }

  /** When the steps that run now began. */
  get turn(): Moment {
    return this.#turn
  }

  /** There is work: runs as many steps as this turn can still bear. A step may call it. */
  run(): void {
    if (this.#isRunning || this.#goesOn) return
    this.#isRunning = true
    this.#turn = { at: this.#clock.monotonic() }
    const began = this.#turn.at - this.#spentMs
    try {
      while (this.#step()) {
        this.#spentMs = this.#clock.monotonic() - began
        if (this.#spentMs >= LONGEST_TURN_MS) return this.later()
      }
      if (this.#spentMs > 0) this.#schedule()
    } finally {
      this.#isRunning = false
    }
  }

  /** There is work, but the caller is busy: runs it in the next turn. */
  later(): void {
    this.#goesOn = true
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#clock.nextTurn(() => {
      this.#isScheduled = false
      this.#spentMs = 0
      if (!this.#goesOn) return
      this.#goesOn = false
      this.run()
    })
  }
}
