import type { EventOf } from '../history.ts'
import type { Facts } from './facts.ts'
import type { PlaceFacts } from './place.ts'

/** A3, A9 for one message. */
export function judgeAck(event: EventOf<'ack'>, facts: Facts): void {
  const place = facts.place(event.place)
  if (event.via !== event.deliveredVia) {
    const says = `acked through ${event.via}, but delivered by ${event.deliveredVia}`
    facts.found('A9 wrong settle', says, { place: place.name, subject: place.message?.subject?.name })
  }
  settle(place, facts)
}

/**
 * A3, A9 for all messages that a commit covers. A gap in the offsets is not a missing message: nothing was sent there,
 * or it was compacted.
 */
export function judgeCommit(event: EventOf<'commit'>, facts: Facts): void {
  const partition = facts.partition(event.partition)
  if (event.via !== event.assignedVia) {
    const says = `committed by ${event.via}, but the partition was assigned by ${event.assignedVia}`
    facts.found('A9 wrong settle', says, { partition: partition.name })
  }
  if (event.next < partition.next) {
    const says = `the committed offset went back from ${partition.next} to ${event.next}`
    facts.found('A9 wrong settle', says, { partition: partition.name })
    return
  }
  partition.next = event.next
  for (;;) {
    const place = partition.places[partition.settled]
    if (place?.log === undefined || place.log.offset >= event.next) return
    partition.settled++
    if (place.isConfirmed && place.deliveries === 0) {
      const says = `committed past ${place.name}, which was never delivered`
      facts.found('A9 wrong settle', says, { place: place.name, subject: place.message?.subject?.name })
    }
    settle(place, facts)
  }
}

function settle(place: PlaceFacts, facts: Facts): void {
  if (place.isSettled) return
  place.isSettled = true
  if (place.message !== undefined) judgeSettled(place, facts)
}

/**
 * A3: only a mark for the same payload, or a confirmed copy, allows a settle. A later loss of the mark does not matter.
 */
export function judgeSettled(place: PlaceFacts, facts: Facts): void {
  if (place.isCopied || place.message?.print?.isMarked === true) return
  const why =
    place.message?.subject === undefined ? 'without an ID and without a copy' : 'without mark and without copy'
  facts.found('A3 settle before mark', `${place.name} was settled ${why}`, {
    place: place.name,
    subject: place.message?.subject?.name,
  })
}
