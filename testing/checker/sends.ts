import type { EventOf } from '../history.ts'
import type { Facts } from './facts.ts'
import type { PlaceFacts } from './place.ts'
import { judgeSettled } from './settles.ts'

/** Notes the message at a place. A second event for the same place only says that it is confirmed. */
export function noteSend(event: EventOf<'send'>, facts: Facts): void {
  const place = facts.place(event.place)
  if (event.type === 'ok') place.isConfirmed = true
  if (place.message !== undefined) return
  describe(place, event, facts)
  // On real servers a producer may learn of its message later than the consumer that has settled it.
  if (place.isSettled) judgeSettled(place, facts)
}

function describe(place: PlaceFacts, event: EventOf<'send'>, facts: Facts): void {
  const subject = event.subject === undefined ? undefined : facts.subject(event.subject)
  const print = subject?.print(event.print)
  if (print !== undefined) {
    print.lastSent = facts.index
    print.firstPlace ??= place.name
    if (event.copyOf !== undefined) print.hasRetryCopy = true
  }
  // A copy has left the order of its lane.
  const lane = event.lane === undefined || event.copyOf !== undefined ? undefined : facts.lane(event.lane)
  place.message = { subject, print, lane, numberInLane: lane?.places.length ?? 0 }
  lane?.places.push(place)
}
