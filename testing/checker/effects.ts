import type { EventOf } from '../history.ts'
import type { Anomaly } from './anomaly.ts'
import type { Facts } from './facts.ts'
import { judgeGivenUp } from './dead-letters.ts'
import { judgeOrder } from './order.ts'
import { NEVER, type Owner, type PrintFacts, type SubjectFacts } from './subject.ts'

type Kind = EventOf<'effect'>['kind']

const DUPLICATE: Readonly<Record<Kind, Anomaly>> = {
  tx: 'A2 duplicate tx',
  attempt: 'A2 duplicate attempt',
  accepted: 'A2 duplicate accepted',
}

/** A2, A6, A8, A11, A12, A14, as far as an effect shows them. */
export function judgeEffect(event: EventOf<'effect'>, facts: Facts): void {
  const { kind } = event
  const subject = facts.subject(event.subject)
  const owner = subject.owner(event.token)
  const print = subject.printOf(event.print ?? owner.print)
  owner.print ??= print.print

  judgeRepeated(kind, subject, print, facts)
  judgeStale(kind, subject, owner, facts)
  if (kind === 'tx' && owner.handlerEnded === 'failed') {
    facts.found('A12 phantom', `${owner.token} failed, and what it wrote was committed`, { subject: subject.name })
  }
  if (facts.isEffect(kind)) {
    judgeOrder(subject, print, facts)
    print.lastEffect = facts.index
    judgeGivenUp(subject, print, facts)
    subject.isOver = true
  }
  note(kind, print, facts.index)
}

function judgeRepeated(kind: Kind, subject: SubjectFacts, print: PrintFacts, facts: Facts): void {
  const last = print.last(kind)
  if (last <= subject.lastReopened) return
  const { lastExpired, lastToldBeyondRetention } = subject
  const hasExpired = lastExpired !== undefined && lastExpired.granted >= last
  const wasMarked = lastExpired?.marked !== Number.POSITIVE_INFINITY
  // A message in doubt is reported once per process, maybe before its first effect.
  if (hasExpired && !wasMarked && lastToldBeyondRetention !== NEVER) return
  if (!hasExpired || !wasMarked) {
    return facts.found(DUPLICATE[kind], `a second effect (${kind}) of the same message`, { subject: subject.name })
  }
  // Reported, or a separate message that was sent after the mark: only retention is promised.
  if (lastToldBeyondRetention > last || print.lastSent > lastExpired.marked) return
  facts.found('A11 window miss', `a second effect (${kind}) after retention, and nobody told of it`, {
    subject: subject.name,
  })
}

/** An inbox has no fence: only the transaction that holds the claim can commit. */
function judgeStale(kind: Kind, subject: SubjectFacts, owner: Owner, facts: Facts): void {
  const { granted, highestFence } = subject
  const isFenced = owner.fence !== undefined && highestFence > owner.fence
  const isSuperseded = kind === 'tx' && owner !== granted && granted !== undefined
  if (!isFenced && !isSuperseded) return
  facts.found('A6 stale effect', `an effect (${kind}) of ${owner.token} after a later claim was granted`, {
    subject: subject.name,
  })
}

function note(kind: Kind, print: PrintFacts, index: number): void {
  switch (kind) {
    case 'tx':
      print.lastTx = index
      break
    case 'attempt':
      print.lastAttempt = index
      break
    case 'accepted':
      print.lastAccepted = index
      break
  }
}
