import type { Bucket } from './replay.ts'

/**
 * What becomes of a dead letter. `redriven`: published where it came from, confirmed. `done`: its effect has happened, there is nothing to
 * do. `parked`: resolve it first. `busy`: somebody handles it now. `repeated`: another dead letter of the same message was redriven.
 * `no-destination`: its headers do not tell where it came from. `refused-destination`: that place is not allowed. `unconfirmed`: it is not one
 * of `foreseen`. `undated`, `no-reason`, `no-field`: it does not have what was asked for, see `include`.
 */
export const REDRIVE_OUTCOMES = [
  'redriven',
  'done',
  'parked',
  'busy',
  'conflict',
  'no-id',
  'unreadable',
  'unknown',
  'looped',
  'repeated',
  'no-destination',
  'refused-destination',
  'unconfirmed',
  'undated',
  'no-reason',
  'no-field',
  'filtered',
] as const

export type RedriveOutcome = (typeof REDRIVE_OUTCOMES)[number]

/** What a redrive does with a dead letter of this bucket, before it looks where to send it. */
export function redriveOutcome(bucket: Bucket, unknown: 'handle' | 'skip'): RedriveOutcome {
  const outcome = OUTCOME_OF[bucket]
  return outcome === 'unknown' && unknown === 'handle' ? 'redriven' : outcome
}

const OUTCOME_OF: Readonly<Record<Bucket, RedriveOutcome>> = {
  fresh: 'redriven',
  'given-up': 'redriven',
  done: 'done',
  processing: 'busy',
  'in-doubt': 'parked',
  parked: 'parked',
  conflict: 'conflict',
  'no-id': 'no-id',
  unreadable: 'unreadable',
  unknown: 'unknown',
  looped: 'looped',
  undated: 'undated',
  'no-reason': 'no-reason',
  'no-field': 'no-field',
  filtered: 'filtered',
}
