import type { DeadLetter, Delivery, RetryCopy } from '../../src/internal.ts'
import type { Opened } from './consumers.ts'

/** As the library makes it: 22 characters. */
export const DEAD_LETTER_KEY = 'U1nmhO_WlHMIQdRLsEpnZw'

const DEAD_LETTER = {
  key: DEAD_LETTER_KEY,
  detail: 'no',
  errorClass: 'Error',
  attempts: 1,
  consumer: 'sms',
  group: 'q',
}

export function retryOf(delivery: Delivery, more: Partial<RetryCopy> = {}): RetryCopy {
  return { ...DEAD_LETTER, message: delivery.message, why: 'failed', delayMs: 0, ...more }
}

export function deadLetterOf({ message }: Delivery): DeadLetter {
  return { ...DEAD_LETTER, message, reason: 'attempts-spent', parked: false }
}

export function deliveryAt({ intake }: Pick<Opened, 'intake'>, index: number): Delivery {
  const delivery = intake.deliveries[index]
  if (delivery === undefined) throw new TypeError(`no delivery ${index}`)
  return delivery
}
