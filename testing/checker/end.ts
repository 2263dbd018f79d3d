import type { End } from '../history.ts'
import type { Facts } from './facts.ts'
import type { PlaceFacts } from './place.ts'
import { NEVER, type PrintFacts, type SubjectFacts } from './subject.ts'

/** A1, A4, A12, L1, L2: judged by the final state. */
export function judgeEnd(end: End, facts: Facts): void {
  judgeUnsettled(end, facts)
  for (const place of facts.places.values()) judgePlace(place, facts)
  for (const subject of facts.subjects.values()) judgeEffects(subject, end, facts)
  for (const [subject, state] of end.records) {
    if (state === 'done') judgeDone(facts.subject(subject), facts)
    if (state === 'processing') judgeProcessing(facts.subject(subject), end, facts)
  }
}

/** L1: the message is still on the broker. Missing messages belong to A1; the two are never mixed. */
function judgeUnsettled(end: End, facts: Facts): void {
  if (!end.isDrained && end.unsettled.length === 0) facts.found('L1 stall', 'the drain had no end in its time', {})
  for (const name of end.unsettled) {
    const place = facts.place(name)
    place.isUnsettledAtEnd = true
    const { print, subject } = place.message ?? {}
    if (print !== undefined) print.isUnsettled = true
    facts.found('L1 stall', `${name} lies in the broker still`, { place: name, subject: subject?.name })
  }
}

/** A1. */
function judgePlace(place: PlaceFacts, facts: Facts): void {
  if (!place.isConfirmed || place.isUnsettledAtEnd || place.isCopied) return
  const print = place.message?.print
  if (print !== undefined && (print.lastEffect !== NEVER || print.isExcused)) return
  facts.found('A1 lost', `${place.name} was confirmed and is gone, without an effect and without a copy`, {
    place: place.name,
    subject: place.message?.subject?.name,
  })
}

/** A4a, and A12 for messages that nobody sent. */
function judgeEffects(subject: SubjectFacts, end: End, facts: Facts): void {
  const state = end.records.get(subject.name)
  for (const print of subject.prints) {
    if (print.lastSent === NEVER && print.hadEffectOfAnyKind()) {
      facts.found('A12 phantom', 'an effect of what was never sent', { subject: subject.name })
    }
    if (print.lastEffect === NEVER || state === 'done' || state === 'parked') continue
    if (isRightlyUnmarked(subject, print, end)) continue
    facts.found('A4a effect without mark', `its effect happened, but its record is ${state ?? 'absent'}`, {
      subject: subject.name,
    })
  }
}

/**
 * True if the message is not over, the store lost its record, its retention has ended (also if another payload has had
 * the record since), or a person let it run again.
 */
function isRightlyUnmarked(subject: SubjectFacts, print: PrintFacts, end: End): boolean {
  const { record, lastLost, lastReopened, lastExpired } = subject
  if (print.isUnsettled || print.hasDeadLetter || lastLost !== NEVER) return true
  if (print.isMarked && lastExpired !== undefined && lastExpired.granted > print.lastEffect) return true
  return record.isExpired(end.at) || lastReopened > print.lastEffect
}

/** A4b. */
function judgeDone(subject: SubjectFacts, facts: Facts): void {
  if (subject.lastLost !== NEVER || subject.prints.some((print) => print.hasDeadLetter)) return
  const hasMark = subject.prints.some((print) => print.isMarked)
  const isWrong = hasMark ? subject.prints.some(isMarkedForNothing) : !subject.prints.some(hasEffect)
  if (!isWrong) return
  facts.found('A4b mark without effect', 'its record is done, but no effect happened', { subject: subject.name })
}

function isMarkedForNothing(print: PrintFacts): boolean {
  return print.isMarked && !print.isExcused && !hasEffect(print)
}

function hasEffect(print: PrintFacts): boolean {
  return print.lastEffect !== NEVER
}

/**
 * L2. If the store lost the record, a claim in flight may have made another one that nobody knows of or needs. If
 * somebody needs it, that is L1.
 */
function judgeProcessing(subject: SubjectFacts, end: End, facts: Facts): void {
  const { record, lastLost } = subject
  const isHeld = record.state === 'processing' && record.leaseUntil !== undefined && record.leaseUntil >= end.at
  if (isHeld || lastLost !== NEVER) return
  facts.found('L2 stuck lease', 'processing at the end, and nobody has its lease', { subject: subject.name })
}
