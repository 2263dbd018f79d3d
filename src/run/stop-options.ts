import type { DurationMs } from '../core/units.ts'
import { either, millis, optionsOf, or, where, type Table } from '../foundation/options.ts'
import type { StopOptions } from '../ports/lifecycle.ts'

export const STOP: Table<StopOptions> = {
  deadlineMs: or(
    30_000,
    either(
      millis({ least: 0 }),
      where<number>('Infinity', (value) => value === Number.POSITIVE_INFINITY),
    ),
  ),
}

/** Calls `stop` with the deadline. Wrong options are a rejection, and nothing is stopped. */
export function stopBy(
  options: StopOptions | undefined,
  stop: (deadlineMs: DurationMs) => Promise<void>,
): Promise<void> {
  let deadlineMs: DurationMs
  try {
    ;({ deadlineMs } = optionsOf('stop', STOP, options))
  } catch (error) {
    return Promise.reject(error)
  }
  // Not awaited here: all calls of `stop()` share one promise.
  return stop(deadlineMs)
}
