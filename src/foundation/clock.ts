import type { EpochMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'

/** The longest timer of Node. It runs a longer one after 1 ms. */
const LONGEST_MS = 2 ** 31 - 1

/** Read once: Node has a getter for the global, which costs more than the time. */
const { performance } = globalThis

/** The only file that reads the global clock. */
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

/** For logs and lists that people read. */
export function isoTime(ms: EpochMs): string {
  return new Date(ms).toISOString()
}

/** `undefined` for text that is no time. */
export function timeIn(text: string | undefined): EpochMs | undefined {
  const at = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}
