import type { Clock } from './ports/clock.ts'

/** The only file that asks the global clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, fn) {
    const timer = setTimeout(fn, delayMs)
    return () => clearTimeout(timer)
  },
  nextTurn: (fn) => void setImmediate(fn),
}
