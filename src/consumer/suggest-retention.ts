import type { Backoff } from '../core/backoff.ts'
import { suggestRetention as suggest, type RedeliveryFacts, type RetentionAdvice } from '../core/retention.ts'
import type { DurationMs } from '../core/units.ts'
import { withoutUndefined } from '../foundation/without-undefined.ts'
import {
  either,
  listOf,
  needed,
  object,
  optionsOf,
  or,
  where,
  whole,
  type Rule,
  type Table,
} from '../foundation/options.ts'
import { shown } from '../foundation/shown.ts'

/** Facts of the broker, so no timer waits for them. */
const TIME: Rule<DurationMs> = where('milliseconds from 0', isTime)
const WINDOW: Rule<DurationMs | 'for-ever'> = where(
  'milliseconds from 0 or "for-ever"',
  (value) => isTime(value) || value === 'for-ever',
  { got: (value) => `${shown(value)}${value === -1 ? ': that of the broker is "for-ever" here' : ''}` },
)

function isTime(value: unknown): boolean {
  return Number.isFinite(value) && Number(value) >= 0
}

const BACKOFF: Table<Backoff> = { initialMs: needed(TIME), maxMs: needed(TIME) }

const FACTS: Table<RedeliveryFacts, Exclude<keyof RedeliveryFacts, 'maxAttempts'>> = {
  topicRetentionMs: WINDOW,
  queueTtlMs: WINDOW,
  leaseMs: TIME,
  maxAttempts: or(1, whole()),
  handlerTimeoutMs: TIME,
  graceMs: TIME,
  delays: either(object(BACKOFF), listOf(TIME, { what: 'milliseconds' })),
}

/**
 * How long `done` must be kept so that no redelivery outlives it: as long as the broker can keep a message, plus the
 * longest time that the message can then be in flight in the consumer. Rounded up to whole hours.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function suggestRetention(facts: RedeliveryFacts): RetentionAdvice {
  return suggest(withoutUndefined<RedeliveryFacts>(optionsOf('suggestRetention', FACTS, facts)))
}
