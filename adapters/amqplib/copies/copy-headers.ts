import { hostname } from 'node:os'
import {
  COPY_HEADER,
  copyNumber,
  copyText,
  copyTime,
  isoTime,
  type CopyHeader,
  type DeadLetter,
  type EpochMs,
  type MessageCopy,
  type RetryCopy,
} from '../../../src/internal.ts'
import { RabbitMessage } from '../message/message.ts'
import type { DelayQueue } from '../options/resolve-retry.ts'
import { carriedName, cutBytes } from '../message/headers.ts'

type Headers = Record<string, unknown>

const MOST_DETAIL_BYTES = 1024
const MOST_NAME_BYTES = 255

/** The headers that explain a dead letter. */
export function deadLetterHeaders(deadLetter: DeadLetter, at: EpochMs): Headers {
  return {
    [COPY_HEADER.reason]: named(deadLetter.reason), // mutant: rabbit-dead-letter-without-a-reason
    ...(deadLetter.parked ? { [COPY_HEADER.parked]: true } : {}),
    [COPY_HEADER.deadLetteredAt]: isoTime(at),
    ...(deadLetter.setAsideAt === undefined ? {} : { [COPY_HEADER.setAsideAt]: isoTime(deadLetter.setAsideAt) }),
    ...commonHeaders(deadLetter, at),
    ...(deadLetter.attempts > 0 ? firstFailure(deadLetter, at) : {}),
    ...earlierDiagnosis(deadLetter),
  }
}

/**
 * The diagnosis in the headers of a dead letter that somebody moved back and that did not run again. If its record does
 * not say what went wrong, only the earlier dead letter can. With another reason or another consumer the old diagnosis does
 * not apply.
 */
function earlierDiagnosis({ message, attempts, errorClass, reason, consumer, isRepeated }: DeadLetter): Headers {
  const { headers } = message
  const isTold = attempts > 0 || errorClass !== undefined
  if ((isTold && isRepeated !== true) || copyText(headers, COPY_HEADER.reason) !== named(reason)) return {}
  if (copyText(headers, COPY_HEADER.consumer) !== named(consumer)) return {}
  const kept: Headers = { [COPY_HEADER.repeated]: true }
  if (isTold) return kept
  for (const name of [COPY_HEADER.detail, COPY_HEADER.errorClass, COPY_HEADER.firstFailureAt]) {
    const text = copyText(headers, name)
    if (text !== undefined) kept[name] = cutBytes(text, MOST_DETAIL_BYTES)
  }
  const told = copyNumber(headers, COPY_HEADER.attempts)
  if (told !== undefined) kept[COPY_HEADER.attempts] = told
  return kept
}

/** The headers of a delayed copy: its queue, its due time, and its number of attempts. */
export function retryHeaders(copy: RetryCopy, { queue, delayMs }: DelayQueue, at: EpochMs): Headers {
  return {
    [COPY_HEADER.delayQueue]: queue,
    [COPY_HEADER.notBefore]: at + delayMs,
    ...commonHeaders(copy, at),
    ...(copy.why === 'failed' ? firstFailure(copy, at) : {}),
  }
}

/** The routing key with which a message was first published. A copy's own routing key is the name of a queue. */
export function originRoutingKey({ message }: MessageCopy): string {
  return (
    carriedName(message.headers, COPY_HEADER.originRoutingKey) ?? RabbitMessage.rawOf(message)?.fields.routingKey ?? ''
  )
}

function commonHeaders(copy: MessageCopy, at: EpochMs): Headers {
  const { message, errorClass } = copy
  const { headers, origin } = message
  const firstExchange = carriedName(headers, COPY_HEADER.originExchange)
  return {
    ...(copy.key === undefined ? {} : { [COPY_HEADER.key]: copy.key }),
    [COPY_HEADER.detail]: cutBytes(copy.detail, MOST_DETAIL_BYTES),
    ...(errorClass === undefined ? {} : { [COPY_HEADER.errorClass]: named(errorClass) }),
    [COPY_HEADER.attempts]: copy.attempts,
    [COPY_HEADER.consumer]: named(copy.consumer),
    [COPY_HEADER.host]: named(hostname()),
    [COPY_HEADER.firstSeenAt]: timeIn(headers, COPY_HEADER.firstSeenAt) ?? isoTime(firstSeenAt(copy, at)),
    [COPY_HEADER.originQueue]: origin, // mutant: rabbit-origin-lost
    // A copy of a copy keeps the first origin of the message.
    [COPY_HEADER.originExchange]: firstExchange ?? RabbitMessage.rawOf(message)?.fields.exchange ?? '',
    [COPY_HEADER.originRoutingKey]: originRoutingKey(copy),
    ...(message.value === null ? { [COPY_HEADER.tombstone]: true } : {}),
  }
}

/** An earlier delivery of it may have failed in this process. */
function firstSeenAt({ message, firstFailureAt }: MessageCopy, at: EpochMs): EpochMs {
  return Math.min(RabbitMessage.arrivalOf(message) ?? at, firstFailureAt ?? at)
}

/** The time in an earlier copy, else now. */
function firstFailure({ message, firstFailureAt }: MessageCopy, at: EpochMs): Headers {
  return {
    [COPY_HEADER.firstFailureAt]: timeIn(message.headers, COPY_HEADER.firstFailureAt) ?? isoTime(firstFailureAt ?? at),
  }
}

function timeIn(headers: MessageCopy['message']['headers'], name: CopyHeader): string | undefined {
  const at = copyTime(headers, name)
  return at === undefined ? undefined : isoTime(at)
}

function named(text: string): string {
  return cutBytes(text, MOST_NAME_BYTES)
}
