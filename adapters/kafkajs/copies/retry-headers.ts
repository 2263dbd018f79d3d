import type { RetryCopy } from '../../../src/spi.ts'
import { bounded, KEY_HEADER, keptHeaders, toHeaders } from './copy-headers.ts'
import type { HeaderEntry, ProducedHeaders } from './headers.ts'
import { firstFailureHeader, originHeaders, originOf } from './origin.ts'

/** When the next attempt is due, in milliseconds since 1970. */
export const NOT_BEFORE_HEADER = 'x-not-before'

/** The unchanged headers of the original, including the message ID, plus the headers that the next attempt needs. */
export function necessaryRetryHeaders(copy: RetryCopy, at: Date): ProducedHeaders {
  return toHeaders(keptHeaders(copy.message), necessary(copy, at))
}

/** The same, plus the reason. */
export function retryHeaders(copy: RetryCopy, at: Date): ProducedHeaders {
  const { message, consumer, detail, errorClass } = copy
  return toHeaders(keptHeaders(message), necessary(copy, at), [
    ['x-consumer', bounded(consumer)],
    ['x-error-message', bounded(detail)],
    ...(errorClass === undefined ? [] : [['x-error-class', bounded(errorClass)] as const]),
  ])
}

function necessary(copy: RetryCopy, at: Date): readonly HeaderEntry[] {
  const { message, key, attempts, delayMs, group, why } = copy
  const failedAt = copy.firstFailureAt ?? (why === 'busy' ? undefined : at.getTime())
  return [
    ...originHeaders(originOf(message)),
    ['x-original-key-present', String(message.key !== null)],
    ...(key === undefined ? [] : [[KEY_HEADER, key] as const]),
    ['x-attempts', String(attempts)],
    ...firstFailureHeader(message, failedAt),
    [NOT_BEFORE_HEADER, String(at.getTime() + delayMs)],
    ['x-consumer-group', bounded(group)],
  ]
}
