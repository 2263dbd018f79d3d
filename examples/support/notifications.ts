/** A message as a topic or a queue holds it. */
export interface Notification {
  readonly id: string
  /** Names the customer: their messages stay in order. */
  readonly key: string
  readonly payload: string
}

/** So many SMS notifications, every sixth one a repeat of an earlier one, as a producer that saw no answer sends it. */
export function notifications(count: number): readonly Notification[] {
  return Array.from({ length: count }, (_, index) => notification(index % 6 === 5 ? index - 4 : index))
}

function notification(index: number): Notification {
  const id = `sms-${String(index).padStart(6, '0')}`
  const payload = { notificationId: id, recipient: { phone: '+447700900123' }, body: `Your code: ${100_000 + index}` }
  return { id, key: `customer-${index % 400}`, payload: JSON.stringify(payload) }
}
