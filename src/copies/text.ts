import type { EpochMs } from '../core/units.ts'
import { isoTime } from '../foundation/clock.ts'
import type { Message } from '../ports/message.ts'
import type { Republished } from '../ports/replay.ts'
import type { DeadLetter, RetryCopy } from '../ports/source.ts'
import { copyTime } from './values.ts'
import { COPY_HEADER, describesCopy } from './vocabulary.ts'

const MOST_TEXT = 1_024

/**
 * All headers of a retry copy or a dead letter, for a source of your own: those of the message, except what described an
 * earlier copy, and what a redrive, the next attempt and a person need to know. Values that it adds are text of at most
 * 1,024 characters. Publish the copy with the key and the bytes of `copy.message`.
 *
 * @param at - when the copy is made
 */
export function copyHeaders(copy: DeadLetter | RetryCopy, at: EpochMs): Message['headers'] {
  const { message, attempts, consumer, group, detail, key, errorClass } = copy
  const headers = keptOf(message.headers)
  const add = (name: string, value: string | undefined): void => {
    if (value !== undefined) headers[name] = boundedText(value)
  }
  add(COPY_HEADER.originTopic, message.origin)
  add(COPY_HEADER.originTimestamp, (message.firstTimestamp ?? message.timestamp)?.toFixed())
  add(COPY_HEADER.originKeyPresent, String(message.key !== null))
  add(COPY_HEADER.key, key)
  add(COPY_HEADER.attempts, String(attempts))
  add(COPY_HEADER.consumer, consumer)
  add(COPY_HEADER.group, group)
  add(COPY_HEADER.detail, detail)
  add(COPY_HEADER.errorClass, errorClass)
  if (attempts > 0) {
    const firstFailureAt = copyTime(message.headers, COPY_HEADER.firstFailureAt) ?? copy.firstFailureAt ?? at
    add(COPY_HEADER.firstFailureAt, isoTime(firstFailureAt))
  }
  if ('delayMs' in copy) {
    add(COPY_HEADER.notBefore, (at + copy.delayMs).toFixed())
    return headers
  }
  add(COPY_HEADER.reason, copy.reason)
  if (copy.parked) add(COPY_HEADER.parked, 'true')
  add(COPY_HEADER.deadLetteredAt, isoTime(at))
  add(COPY_HEADER.setAsideAt, copy.setAsideAt === undefined ? undefined : isoTime(copy.setAsideAt))
  return headers
}

/**
 * All headers of a dead letter that a redrive sends back, for a `ReplayPublisher` of your own: those of the message, without
 * what described the dead letter, and what the redrive adds. Sent to another place than its origin, it keeps the origin,
 * which is part of its key.
 */
export function redrivenHeaders({ item: { message }, destination, headers: added }: Republished): Message['headers'] {
  const headers = keptOf(message.headers)
  if (message.origin !== destination) headers[COPY_HEADER.originTopic] = message.origin
  return Object.assign(headers, added)
}

/** The text of a header that a copy adds, cut to what a header may have. */
export function boundedText(text: string): string {
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text
}

/** Without a prototype, so that a header named `__proto__` is an ordinary property. */
function keptOf(headers: Message['headers']): Record<string, unknown> {
  const kept = Object.create(null) as Record<string, unknown>
  for (const name of Object.keys(headers)) if (!describesCopy(name)) kept[name] = headers[name]
  return kept
}
