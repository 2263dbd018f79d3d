import type { DurationMs } from '../core/units.ts'
import { either, millis, oneOf, or, type Defaulted } from '../foundation/options.ts'

/** The option `leaveAfterMs` of a source. */
export const LEAVE_AFTER: Defaulted<DurationMs | 'never'> = or(60_000, either(millis(), oneOf('never')))

/** Returns `undefined` if it never leaves. */
export function resolveLeaveAfter(given: DurationMs | 'never' | undefined, problems: string[]): DurationMs | undefined {
  if (given === 'never') return undefined
  if (given !== undefined) LEAVE_AFTER.read(given, { name: 'leaveAfterMs', problems })
  return given ?? (LEAVE_AFTER.default as DurationMs)
}
