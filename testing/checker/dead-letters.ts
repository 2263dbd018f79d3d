import type { EventOf } from '../history.ts'
import type { Facts } from './facts.ts'
import { NEVER, type PrintFacts, type SubjectFacts } from './subject.ts'

/** A14, as far as a dead letter shows it. An unconfirmed copy does not count. */
export function judgeCopy(event: EventOf<'copy'>, facts: Facts): void {
  if (event.type !== 'ok') return
  const place = facts.place(event.place)
  place.isCopied = true
  const { subject, print } = place.message ?? {}
  if (subject === undefined || print === undefined) return
  if (event.to === 'retry') {
    print.hasRetryCopy = true
    return
  }
  print.hasDeadLetter = true
  const unfounded = whyUnfounded(event.reason, subject, facts)
  if (unfounded !== undefined)
    facts.found('A15 unfounded dead letter', unfounded, { place: event.place, subject: subject.name })
  if (event.parked || !isGivenUp(event.reason)) return
  print.lastGivenUp = facts.index
  judgeGivenUp(subject, print, facts)
}

/**
 * A14: given up says that no effect happened. In doubt says nothing, and a message that nobody may reopen has no record
 * to contradict.
 */
export function judgeGivenUp(subject: SubjectFacts, print: PrintFacts, facts: Facts): void {
  const earlier = Math.min(print.lastGivenUp, print.lastEffect)
  // With a lost record the store has lost what it knew of the claim that had the effect.
  if (earlier === NEVER || subject.lastReopened > earlier || subject.lastLost !== NEVER) return
  facts.found('A14 dead letter and effect', 'dead-lettered as given up, and its effect happened', {
    subject: subject.name,
  })
}

/** A15. */
function whyUnfounded(reason: string, subject: SubjectFacts, { rules }: Facts): string | undefined {
  const { prints, wasInDoubt, hasFailed, hasEnded } = subject
  switch (reason) {
    case 'conflict':
      return prints.length > 1 ? undefined : 'a conflict, but one payload only was ever sent'
    case 'no-id':
      return 'no usable ID, but it has one'
    case 'in-doubt':
      return rules.promised === 'lease, park' ? undefined : `parked in doubt, but the promise is ${rules.promised}`
    case 'handler-failed':
      return hasFailed || wasInDoubt || !hasEnded ? undefined : 'given up by its handler, which never failed'
    default:
      return undefined
  }
}

/** The other reasons are for messages that no handler got. */
function isGivenUp(reason: string): boolean {
  return reason === 'attempts-spent' || reason === 'handler-failed'
}
