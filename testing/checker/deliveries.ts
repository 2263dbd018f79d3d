import type { EventOf } from '../history.ts'
import type { Facts } from './facts.ts'

/** L3. */
export function judgeDelivery(event: EventOf<'deliver'>, facts: Facts): void {
  const place = facts.place(event.place)
  place.deliveries++
  if (place.deliveries !== facts.rules.mostDeliveries + 1) return
  facts.found('L3 storm', `${place.name} was delivered more than ${facts.rules.mostDeliveries} times`, {
    place: place.name,
    subject: place.message?.subject?.name,
  })
}
