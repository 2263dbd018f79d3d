import type { EventOf } from '../history.ts'
import type { Facts } from './facts.ts'
import type { PlaceFacts } from './place.ts'
import type { PrintFacts } from './subject.ts'

/**
 * A10. A delivery that `joined` another one claims no effect of its own: it ended as that one did, and its settle is
 * judged by that. A producer's second send that joined a dead-lettered message is in the dead-letter place with it.
 */
export function judgeTold(event: EventOf<'tell'>, facts: Facts): void {
  if (event.subject === undefined) return
  const subject = facts.subject(event.subject)
  if (event.what === 'beyond-retention') subject.lastToldBeyondRetention = facts.index
  if (event.what === 'joined' && event.place !== undefined) noteJoined(facts.place(event.place))
  if (event.what !== 'duplicate') return
  const told = event.place === undefined ? undefined : facts.place(event.place).message?.print?.print
  const print = event.print ?? told
  // A position is over when it is passed, also because of a dead letter.
  const isPassed = facts.rules.promised === 'offsets' && subject.prints.some((one) => one.hasDeadLetter)
  const isRight = print === undefined ? subject.prints.some(isHandled) : isHandled(subject.print(print))
  if (isRight || isPassed) return
  facts.found('A10 false duplicate', 'told to be a duplicate of what had no effect', { subject: subject.name })
}

function noteJoined(place: PlaceFacts): void {
  if (place.message?.print?.hasDeadLetter === true) place.isCopied = true
}

function isHandled(print: PrintFacts): boolean {
  return print.hadEffectOfAnyKind() || print.isExcused
}
