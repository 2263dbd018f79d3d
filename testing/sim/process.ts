import type { Clock } from '../../src/ports/clock.ts'
import type { Timeline } from './timeline.ts'

/** The start of every schedule by the wall clock. */
const WALL_MS = 1_700_000_000_000

/**
 * A process on the timeline. After its death nothing of it goes on. While it is paused everything waits, as under
 * SIGSTOP or a long garbage collection, but its monotonic clock goes on.
 */
export class SimProcess {
  readonly name: string
  readonly clock: Clock
  readonly #timeline: Timeline
  readonly #onDeath: (() => void)[] = []
  readonly #onPause: ((forMs: number) => void)[] = []
  #isDead = false
  #pausedUntil = 0
  #wallOffsetMs = 0

  constructor(name: string, timeline: Timeline) {
    this.name = name
    this.#timeline = timeline
    this.clock = {
      now: () => wallAt(timeline.now) + this.#wallOffsetMs,
      monotonic: () => timeline.now,
      after: (delayMs, run) => this.after(delayMs, run),
      nextTurn: (run) => void this.after(0, run),
    }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  get isPaused(): boolean {
    return this.#timeline.now < this.#pausedUntil
  }

  /** Calls back in this process: not at all if it is dead by then, later if it is paused. */
  after(delayMs: number, run: () => void): () => void {
    const fire = (): void => {
      if (this.#isDead) return
      if (this.isPaused) moment = this.#timeline.after(this.#pausedUntil - this.#timeline.now, fire)
      else run()
    }
    let moment = this.#timeline.after(delayMs, fire)
    return () => {
      moment.run = undefined
    }
  }

  onDeath(run: () => void): void {
    this.#onDeath.push(run)
  }

  onPause(run: (forMs: number) => void): void {
    this.#onPause.push(run)
  }

  die(): void {
    if (this.#isDead) return
    this.#isDead = true
    for (const run of this.#onDeath) run()
  }

  pause(forMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#timeline.now + forMs)
    for (const run of this.#onPause) run(forMs)
  }

  /** Its wall clock jumps. */
  jump(byMs: number): void {
    this.#wallOffsetMs += byMs
  }
}

/** True wall time of a moment. */
export function wallAt(now: number): number {
  return WALL_MS + now
}
