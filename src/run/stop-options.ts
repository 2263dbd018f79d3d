import { DEFAULTS } from '../consumer/defaults.ts'
import type { DurationMs } from '../core/units.ts'
import { ConfigError } from '../foundation/errors.ts'
import { checkNames, checkWhole, givenOf, LONGEST_TIMER_MS } from '../foundation/option-checks.ts'
import type { StopOptions } from '../ports/lifecycle.ts'

/** Calls `stop` with the deadline. Wrong options are a rejection, and nothing is stopped. */
export function stopBy(
  options: StopOptions | undefined,
  stop: (deadlineMs: DurationMs) => Promise<void>,
): Promise<void> {
  let deadlineMs: DurationMs
  try {
    deadlineMs = deadlineOf(options)
  } catch (error) {
    return Promise.reject(error)
  }
  // Not awaited here: all calls of `stop()` share one promise.
  return stop(deadlineMs)
}

/** @throws ConfigError `CONFIG_INVALID` */
function deadlineOf(options: StopOptions | undefined): DurationMs {
  const given = givenOf<StopOptions>(options as StopOptions)
  const { deadlineMs = DEFAULTS.stopDeadlineMs } = given
  const problems: string[] = []
  checkNames('', given, { of: 'stop()', known: { deadlineMs } }, problems)
  if (deadlineMs !== 0 && deadlineMs !== Number.POSITIVE_INFINITY) {
    checkWhole('deadlineMs', deadlineMs, problems, { most: LONGEST_TIMER_MS, or: ', 0 or Infinity' })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return deadlineMs
}
