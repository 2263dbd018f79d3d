import { boundedText, COPY_HEADER, type RetryCopy } from '../../../src/internal.ts'
import { identification, keptHeaders, toHeaders } from './copy-headers.ts'
import type { HeaderEntry, ProducedHeaders } from './headers.ts'
import { firstFailureHeader, originHeaders, originOf } from './origin.ts'

/** The unchanged headers of the original, including the message ID, plus the headers that the next attempt needs. */
export function necessaryRetryHeaders(copy: RetryCopy, at: Date): ProducedHeaders {
  return toHeaders(keptHeaders(copy.message), necessary(copy, at))
}

/** The same, plus the reason. */
export function retryHeaders(copy: RetryCopy, at: Date): ProducedHeaders {
  const { message, consumer, detail, errorClass } = copy
  return toHeaders(keptHeaders(message), necessary(copy, at), [
    [COPY_HEADER.consumer, boundedText(consumer)],
    [COPY_HEADER.detail, boundedText(detail)],
    ...(errorClass === undefined ? [] : [[COPY_HEADER.errorClass, boundedText(errorClass)] as const]),
  ])
}

function necessary(copy: RetryCopy, at: Date): readonly HeaderEntry[] {
  const { message, delayMs, group, why } = copy
  const failedAt = copy.firstFailureAt ?? (why === 'busy' ? undefined : at.getTime())
  return [
    ...originHeaders(originOf(message)),
    ...identification(copy),
    ...firstFailureHeader(message, failedAt),
    [COPY_HEADER.notBefore, String(at.getTime() + delayMs)],
    [COPY_HEADER.group, boundedText(group)],
  ]
}
