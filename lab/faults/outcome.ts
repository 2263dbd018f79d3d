import type { History, HistoryEvent, Subject } from '../../testing/history.ts'
import type { Outcome } from './cell.ts'

/** What became of one message, by what the servers hold and have said. */
export function outcomeOf({ events }: History, subject: Subject, places: readonly string[]): Outcome {
  const ofSubject = events.filter((event) => 'subject' in event && event.subject === subject)
  const deadLetters = events.filter((event) => event.f === 'copy' && places.includes(event.place))
  if (deadLetters.some((event) => event.f === 'copy' && event.parked)) return 'in doubt'
  const effects = ofSubject.filter((event) => event.f === 'effect')
  const taken = effects.filter(({ kind }) => kind !== 'attempt').length
  if (taken > 1) return 'D'
  if (taken === 0) return deadLetters.length > 0 ? 'dead-lettered' : 'lost'
  if (effects.filter(({ kind }) => kind === 'attempt').length > 1) return 'k'
  if (wasSettledAsDuplicate(ofSubject)) return '1s'
  return wasTakenOver(ofSubject) ? 'B' : '1'
}

/** Claimed again, though nobody had released it. */
function wasTakenOver(ofSubject: readonly HistoryEvent[]): boolean {
  const turns = ofSubject.filter(({ f }) => f === 'claim' || f === 'release')
  return turns.some(({ f }, at) => f === 'claim' && turns[at - 1]?.f === 'claim')
}

/** By its worker's words: a fetch may bring again what nobody takes, as after a pause, when Kafka's log is compared. */
function wasSettledAsDuplicate(ofSubject: readonly HistoryEvent[]): boolean {
  const marked = ofSubject.findLast((event) => event.f === 'mark' && event.type === 'ok')
  if (marked === undefined) return false
  return ofSubject.some((event) => event.f === 'tell' && IS_DUPLICATE.has(event.what) && event.at > marked.at)
}

const IS_DUPLICATE: ReadonlySet<string> = new Set(['duplicate', 'joined'])
