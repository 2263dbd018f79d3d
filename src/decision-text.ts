import type { Decision } from './core/record.ts'

/** About records that are there. */
export type PersonsDecision = Exclude<Decision, 'import'>

/** The consequence for a message, for the preview. */
export const EFFECT: Readonly<Record<PersonsDecision, string>> = {
  done: 'is done: no handler runs for it any more',
  rerun: 'runs at its next delivery, with all its attempts',
  reopen: 'runs at its next delivery, with all its attempts',
  forget: 'runs at its next delivery: its effect happens AGAIN',
}

/** Which records a decision applies to, for a refusal. */
export const ONLY: Readonly<Record<PersonsDecision, string>> = {
  done: 'only what is parked, in doubt or given up',
  rerun: 'only what is parked, in doubt or given up; `forget` is for what is done',
  reopen: 'only what is given up; `resolve --rerun` is for what is parked or in doubt',
  forget: 'only what is done; `reopen` is for what is given up',
}
