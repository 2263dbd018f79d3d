import type { EventOf, FaultEvent } from '../history.ts'
import type { Facts } from './facts.ts'
import { NEVER, type SubjectFacts } from './subject.ts'

/** A5, and A13 for an attempt that nobody made. */
export function judgeClaim(event: EventOf<'claim'>, facts: Facts): void {
  const subject = facts.subject(event.subject)
  const owner = subject.owner(event.token)
  owner.print ??= event.print
  if (event.print !== undefined) subject.print(event.print)
  if (event.type === 'invoke' || (event.verdict !== 'claimed' && event.verdict !== 'taken-over')) return

  const { record } = subject
  if (record.state !== 'absent' && record.isExpired(event.at)) {
    const marked = record.state === 'done' ? subject.lastMarked : Number.POSITIVE_INFINITY
    subject.lastExpired = { granted: facts.index, marked }
  }
  const wrong = record.grant(event.token, event.at, event)
  judgeWrite(wrong, subject, facts)
  if (event.verdict === 'claimed' && record.isInDoubt && wrong === undefined) {
    const says = `${event.token} was granted a plain claim, though an earlier attempt is in doubt`
    facts.found('A13 unknown as failure', says, { subject: subject.name })
  }
  subject.granted = owner
  owner.fence = event.fence
  owner.attempt = event.attempt ?? 0
  if (event.verdict === 'taken-over') subject.wasInDoubt = true
  if (event.fence !== undefined && event.fence > subject.highestFence) subject.highestFence = event.fence
  if (event.attempt !== undefined && event.attempt > record.attempts) {
    const says = `attempt ${event.attempt} was granted, but only ${record.attempts} claims counted`
    facts.found('A13 unknown as failure', says, { subject: subject.name })
  }
}

/** A5. */
export function judgeRenewal(event: EventOf<'renew'>, facts: Facts): void {
  if (event.type === 'invoke') return
  const subject = facts.subject(event.subject)
  judgeWrite(subject.record.renew(event.token, event.until), subject, facts)
}

/** A5. */
export function judgeMark(event: EventOf<'mark'>, facts: Facts): void {
  const subject = facts.subject(event.subject)
  const owner = subject.owner(event.token)
  owner.mayBeMarked = event.type !== 'fail'
  if (event.type !== 'ok') return
  judgeWrite(subject.record.mark(event.token, event.at, event.until), subject, facts)
  writeDone(subject, owner.print, event.without !== undefined)
  subject.lastMarked = facts.index
}

/** A5, and A13 for an effect that may have happened and is released. */
export function judgeRelease(event: EventOf<'release'>, facts: Facts): void {
  const subject = facts.subject(event.subject)
  const owner = subject.owner(event.token)
  if (owner.mayBeMarked) {
    const says = `${event.token} released what it had tried to mark and was not refused`
    facts.found('A13 unknown as failure', says, { subject: subject.name })
    owner.mayBeMarked = false
  }
  if (event.type !== 'ok') return
  const { record } = subject
  const isLease = record.state === 'processing' && record.leaseUntil !== undefined
  const mayHaveHappened = owner.handlerEnded === 'ok' || owner.handlerEnded === 'unknown'
  if (isLease && mayHaveHappened && !event.doubt) {
    const says = `${event.token} released as if nothing had happened what its handler ended ${owner.handlerEnded}`
    facts.found('A13 unknown as failure', says, { subject: subject.name })
  }
  judgeWrite(record.release(event), subject, facts)
}

/** A5, and A13 for attempts that are said to be spent. */
export function judgeSetAside(event: EventOf<'set-aside'>, facts: Facts): void {
  if (event.type === 'invoke') return
  const subject = facts.subject(event.subject)
  const { record } = subject
  if (event.reason === 'attempts-spent' && record.state === 'processing' && record.attempts < facts.rules.maxAttempts) {
    const says = `set aside for spent attempts after ${record.attempts} of ${facts.rules.maxAttempts}`
    facts.found('A13 unknown as failure', says, { subject: subject.name })
  }
  const wrong = record.setAside(event.token, event.as, event.until)
  judgeWrite(wrong, subject, facts)
  if (event.as === 'given-up' && record.isInDoubt && wrong === undefined) {
    facts.found('A13 unknown as failure', 'given up, though an attempt is in doubt', { subject: subject.name })
  }
  subject.isOver = true
}

export function noteDecision(event: EventOf<'decide'>, facts: Facts): void {
  const subject = facts.subject(event.subject)
  subject.record.decide(event.decision, event.until)
  if (event.decision === 'done' || event.decision === 'import') {
    writeDone(subject, subject.granted?.print, true)
    subject.lastMarked = facts.index
  } else {
    subject.lastReopened = facts.index
  }
}

/** The store lost one record, or all. */
export function noteLoss(event: FaultEvent, facts: Facts): void {
  if (event.subject !== undefined) return loseRecord(facts.subject(event.subject), facts)
  for (const subject of facts.subjects.values()) {
    // A subject without a record has none to lose.
    if (subject.granted !== undefined || subject.lastMarked !== NEVER) loseRecord(subject, facts)
  }
}

function loseRecord(subject: SubjectFacts, facts: Facts): void {
  subject.record.lose()
  subject.highestFence = 0
  subject.lastLost = facts.index
}

function judgeWrite(wrong: string | undefined, subject: SubjectFacts, facts: Facts): void {
  if (wrong !== undefined) facts.found('A5 stale write', wrong, { subject: subject.name })
}

/** A mark is for one payload. If no event says which, it counts for each known one. */
function writeDone(subject: SubjectFacts, print: string | undefined, isExcused: boolean): void {
  subject.isOver = true
  for (const facts of subject.prints) {
    if (print !== undefined && facts.print !== print) continue
    facts.isMarked = true
    if (isExcused) facts.isExcused = true
  }
}
