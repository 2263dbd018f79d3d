import type { EpochMs } from './core/units.ts'
import type { Clock } from './ports/clock.ts'

/** Node's longest timer; it takes a longer one for 1 ms. */
const LONGEST_MS = 2 ** 31 - 1

/** The only file that asks the global clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, fn, how) {
    const timer = setTimeout(fn, Math.min(delayMs, LONGEST_MS))
    if (how?.background) timer.unref()
    return () => clearTimeout(timer)
  },
  nextTurn: (fn) => void setImmediate(fn),
}

/** For people: logs and lists. */
export function isoTime(ms: EpochMs): string {
  return new Date(ms).toISOString()
}
