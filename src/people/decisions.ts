// What people decide about records, on the command line and on the dashboard.

import { verdictOn, type DecideVerdict, type Decision, type Key } from '../core/record.ts'
import type { Admin, Decided, Inspected } from './admin.ts'
import type { Decider } from './decider.ts'

/** About records that are there. */
export type PersonsDecision = Exclude<Decision, 'import'>

export const DECISIONS: readonly PersonsDecision[] = ['done', 'rerun', 'reopen', 'forget']

/** For a store, a key without a record is open already. For a person it is probably a mistyped ID. */
export function foreseen(record: Inspected, decision: PersonsDecision): DecideVerdict | 'no-record' {
  return record.state === 'absent' && record.scope !== 'another' ? 'no-record' : verdictOn(decision, record)
}

/** Decides exactly the records that were shown: an ID, or a person, has said that they are of this consumer. */
export function carryOut(
  admin: Admin,
  decision: PersonsDecision,
  keys: readonly Key[],
  decider: Decider,
): Promise<readonly Decided[]> {
  const refs = keys.map((key) => ({ key, unscoped: true }))
  switch (decision) {
    case 'done':
    case 'rerun':
      return admin.resolve(refs, { ...decider, as: decision })
    case 'reopen':
    case 'forget':
      return admin[decision](refs, decider)
  }
}
