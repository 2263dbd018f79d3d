import type { DeadLetterReason } from '../core/after-claim.ts'
import { closed } from './label-values.ts'

/** Reasons of messages that were given up. */
export const GIVEN_UP_BECAUSE: readonly DeadLetterReason[] = [
  'no-id',
  'undecodable',
  'schema',
  'conflict',
  'handler-failed',
  'attempts-spent',
]

/** Reasons of messages that were parked. */
export const PARKED_BECAUSE: readonly DeadLetterReason[] = [
  'in-doubt',
  'attempts-spent',
  'handler-failed',
  'beyond-retention',
  'record-unreadable',
  'behind-sequence',
]

/** Those of them that leave a record: a message without an ID has none, and a conflict is about the record of another. */
export const RECORDED_AS_GIVEN_UP: readonly DeadLetterReason[] = [
  'undecodable',
  'schema',
  'handler-failed',
  'attempts-spent',
]

/** The value of the label `reason`; `other` for a reason that a custom store wrote. */
export const reasonOf: (raw: string) => string = closed([...GIVEN_UP_BECAUSE, ...PARKED_BECAUSE])
