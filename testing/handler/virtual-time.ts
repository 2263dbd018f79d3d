import type { Clock } from '../../src/ports/clock.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { Timeline } from '../sim/timeline.ts'

/** Enough for what waits for promises and the next turn alone. */
const TURNS = 12
/** 1 January 2026. */
const START = 1_767_225_600_000
const SECOND = 1_000
/** Longer than any backoff, lease and retry of a test. */
const MOST_MS = 30 * 86_400_000

/** Time that stands still while a handler runs, and moves to the next timer when nothing else is left to do. */
export class VirtualTime {
  readonly #timeline = new Timeline()

  now(): number {
    return START + this.#timeline.now
  }

  /** The clock of a process. Nothing of it is called after its death. */
  clockFor(isAlive: () => boolean): Clock {
    const ifAlive = (fn: () => void) => () => void (isAlive() && fn())
    return {
      now: () => this.now(),
      monotonic: () => this.#timeline.now,
      after: (delayMs, fn) => {
        const moment = this.#timeline.after(Math.max(1, delayMs), ifAlive(fn))
        return () => (moment.run = undefined)
      },
      nextTurn: (fn) => void setImmediate(ifAlive(fn)),
    }
  }

  /** A second later, and a moment by the clock of the machine. */
  async pass(): Promise<void> {
    const before = systemClock.now()
    while (systemClock.now() === before) await nextTurn()
    let isLater = false
    this.#timeline.after(SECOND, () => (isLater = true))
    await this.until(() => isLater)
  }

  /** @param running - promises of handlers that run. @throws Error if it is never so */
  async until(isSo: () => boolean, running: () => Iterable<Promise<unknown>> = nothing): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < TURNS; turn++) {
        if (isSo()) return
        await nextTurn()
      }
      const handlers = [...running()]
      if (handlers.length > 0) await Promise.race(handlers)
      else if (!this.#timeline.next() || this.#timeline.now > MOST_MS)
        throw new Error('not settled, and nothing is left to wait for')
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}

function nothing(): readonly never[] {
  return []
}
