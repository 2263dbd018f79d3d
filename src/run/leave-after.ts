import { DEFAULTS } from '../consumer/defaults.ts'
import type { DurationMs } from '../core/units.ts'
import { checkWhole, type Show } from '../foundation/option-checks.ts'

/** The longest time of a timer: 24.8 days. */
const LONGEST_MS = 2_147_483_647

/** The option `leaveAfterMs` of a source. Returns `undefined` if it never leaves. */
export function resolveLeaveAfter(
  given: DurationMs | 'never' | undefined,
  problems: string[],
  show?: Show,
): DurationMs | undefined {
  if (given === 'never') return undefined
  const leaveAfterMs = given ?? DEFAULTS.leaveAfterMs
  const how = { most: LONGEST_MS, or: `, or 'never'`, ...(show !== undefined && { show }) }
  checkWhole('leaveAfterMs', leaveAfterMs, problems, how)
  return leaveAfterMs
}
