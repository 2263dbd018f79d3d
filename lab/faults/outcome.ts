import type { History, HistoryEvent, Subject } from '../../testing/history.ts'
import type { Outcome } from './cell.ts'

/** Outcome of one message, from what the servers hold and reported. */
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

/** Claimed again without a release in between. */
function wasTakenOver(ofSubject: readonly HistoryEvent[]): boolean {
  const turns = ofSubject.filter(({ f }) => f === 'claim' || f === 'release')
  return turns.some(({ f }, at) => f === 'claim' && turns[at - 1]?.f === 'claim')
}

/** Goes by what the worker reports: after a pause a fetch may bring a message again that no worker takes. */
function wasSettledAsDuplicate(ofSubject: readonly HistoryEvent[]): boolean {
  const marked = ofSubject.findLast((event) => event.f === 'mark' && event.type === 'ok')
  if (marked === undefined) return false
  return ofSubject.some((event) => event.f === 'tell' && IS_DUPLICATE.has(event.what) && event.at > marked.at)
}

const IS_DUPLICATE: ReadonlySet<string> = new Set(['duplicate', 'joined'])
