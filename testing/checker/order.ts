import type { Facts } from './facts.ts'
import type { Lane, PlaceFacts } from './place.ts'
import { NEVER, type PrintFacts, type SubjectFacts } from './subject.ts'

/** A8, at the first effect of a message. A message that was copied to a retry place has left the order of its lane. */
export function judgeOrder(subject: SubjectFacts, print: PrintFacts, facts: Facts): void {
  if (print.lastEffect !== NEVER || print.hasRetryCopy) return
  if (print.firstPlace === undefined) return
  const { lane, numberInLane = 0 } = facts.place(print.firstPlace).message ?? {}
  if (lane === undefined) return
  const first = firstOpen(lane)
  if (first?.message === undefined || first.message.numberInLane >= numberInLane) return
  facts.found('A8 order', `its effect happened before that of ${first.name}, which is earlier in lane ${lane.name}`, {
    subject: subject.name,
    place: first.name,
    other: first.message.subject?.name,
  })
}

function firstOpen(lane: Lane): PlaceFacts | undefined {
  for (;;) {
    const place = lane.places[lane.over]
    if (place === undefined || !isOver(place)) return place
    lane.over++
  }
}

/**
 * Its effect has happened or never will. A message without an ID, or with the ID of another message, has no part in the
 * order. A message that nobody confirmed and nobody saw may not exist.
 */
function isOver(place: PlaceFacts): boolean {
  const subject = place.message?.subject
  return place.isCopied || subject === undefined || subject.isOver || (!place.isConfirmed && place.deliveries === 0)
}
