import { setAsideBy, type FoundMessage } from '../../src/replay/find/find.ts'
import { dateOf } from './date.ts'

/** A queue has no positions. */
export function placeOf({ from, part, position }: Pick<FoundMessage, 'from' | 'part' | 'position'>): string {
  return from.startsWith('rabbitmq:') ? from : `${from.split(':', 1)[0]}:${part}/${position}`
}

export function letterJson(letter: FoundMessage): Record<string, unknown> {
  const { from, part, position, id, idempotencyKey, origin, timestamp, bytes, deadLetter, isConflict } = letter
  return {
    from,
    ...(from.startsWith('rabbitmq:') ? {} : { partition: part, position }),
    id,
    idempotency_key: idempotencyKey,
    origin,
    at: dateOf(timestamp),
    since: dateOf(deadLetter?.since),
    reason: deadLetter?.reason,
    parked: deadLetter?.parked,
    set_aside_by: deadLetter === undefined ? undefined : setAsideBy(deadLetter),
    bytes: bytes ?? null,
    conflict: isConflict,
  }
}
