import type { DecideVerdict, RecordView } from '../core/record.ts'
import type { PersonsDecision } from './decisions.ts'

/** The consequence for a message, for the preview. */
export const EFFECT: Readonly<Record<PersonsDecision, string>> = {
  done: 'is done: no handler runs for it any more',
  rerun: 'runs at its next delivery, with all its attempts',
  reopen: 'runs at its next delivery, with all its attempts',
  forget: 'runs at its next delivery: its effect happens AGAIN',
}

/** Which records a decision applies to, for a refusal. */
const ONLY: Readonly<Record<PersonsDecision, string>> = {
  done: 'only what is parked, in doubt or given up',
  rerun: 'only what is parked, in doubt or given up; `forget` is for what is done',
  reopen: 'only what is given up; `resolve --rerun` is for what is parked or in doubt',
  forget: 'only what is done; `reopen` is for what is given up',
}

interface Shown {
  readonly scope: RecordView['scope']
  /** What to say of a key without a record. */
  readonly noRecord: string
}

/** What a decision means for one record. */
export function consequenceOf(
  verdict: DecideVerdict | 'no-record' | 'unproven',
  decision: PersonsDecision,
  { scope, noRecord }: Shown,
): string {
  if (scope === 'another') return 'stays: it is a record of another consumer of this store'
  switch (verdict) {
    case 'unproven':
      return `stays: its record does not say of which consumer it is (it is done): give its message ID, or --unscoped if it is surely of this one`
    case 'decided':
      return EFFECT[decision]
    case 'already':
      return 'is already in that state'
    case 'refused':
      return `stays: ${ONLY[decision]}`
    case 'no-record':
      return noRecord
  }
}
