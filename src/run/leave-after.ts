import type { DurationMs } from '../core/units.ts'
import { either, millis, oneOf, or, type Defaulted } from '../foundation/options.ts'

/** The option `leaveAfterMs` of a source. */
export const LEAVE_AFTER: Defaulted<DurationMs | 'never'> = or(60_000, either(millis(), oneOf('never')))
