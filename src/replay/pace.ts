import type { EpochMs, MonotonicMs } from '../core/units.ts'
import type { Clock } from '../ports/clock.ts'
import { minuteOfDay } from '../foundation/time-text.ts'

/** Hours of the day, in the time zone of the process, in which nothing begins. */
export interface QuietHours {
  /** Minutes after midnight. `from` may be later than `to`: the night. */
  readonly from: number
  readonly to: number
}

/** `21:00-08:00`. @returns a problem, as text, if it is no such text */
export function parseQuietHours(text: string): QuietHours | string {
  const parts = /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)$/.exec(text)
  if (parts === null) return `expected hours such as 21:00-08:00, got ${JSON.stringify(text)}`
  const [, fromHour, fromMinute, toHour, toMinute] = parts.map(Number) as [number, number, number, number, number]
  const hours = { from: fromHour * 60 + fromMinute, to: toHour * 60 + toMinute }
  return hours.from === hours.to ? `expected two different times, got ${JSON.stringify(text)}` : hours
}

/** Minutes until quiet hours end; 0 outside of them. */
export function quietForMinutes({ from, to }: QuietHours, at: EpochMs): number {
  const now = minuteOfDay(at)
  const isQuiet = from < to ? now >= from && now < to : now >= from || now < to
  return isQuiet ? (to - now + 24 * 60) % (24 * 60) : 0
}

const MOST_WAIT_MS = 60_000
/** Late timers are made up for, so that a high rate is met; long waits are not. */
const MOST_LATE_MS = 50

/** Says when the next message may begin. */
export class Pace {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #quiet: QuietHours | undefined
  #next: MonotonicMs

  /** @param rate - messages per second; `undefined`: as fast as they are handled */
  constructor(clock: Clock, rate: number | undefined, quiet: QuietHours | undefined) {
    this.#clock = clock
    this.#everyMs = rate === undefined ? 0 : 1_000 / rate
    this.#quiet = quiet
    this.#next = clock.monotonic()
  }

  /** Resolves when a message may begin, or when `signal` aborts. A long wait is not made up for. */
  async turn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = this.#waitMs()
      if (waitMs <= 0) break
      await this.#sleep(Math.min(waitMs, MOST_WAIT_MS), signal)
    }
    this.#next = Math.max(this.#next, this.#clock.monotonic() - MOST_LATE_MS) + this.#everyMs
  }

  /** Messages begin one by one. */
  get isLimited(): boolean {
    return this.#everyMs > 0
  }

  get isQuiet(): boolean {
    return this.#quietMs() > 0
  }

  #waitMs(): number {
    return Math.max(this.#quietMs(), this.#next - this.#clock.monotonic())
  }

  #quietMs(): number {
    return this.#quiet === undefined ? 0 : quietForMinutes(this.#quiet, this.#clock.now()) * 60_000
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel()
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const cancel = this.#clock.after(ms, wake)
      signal.addEventListener('abort', wake)
    })
  }
}
