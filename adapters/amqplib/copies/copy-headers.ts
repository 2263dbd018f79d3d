import { hostname } from 'node:os'
import type { DeadLetter, EpochMs, MessageCopy, RetryCopy } from '../../../src/spi.ts'
import { RabbitMessage } from '../message/message.ts'
import type { DelayQueue } from '../options/resolve-retry.ts'
import {
  DELAY_QUEUE,
  FIRST_FAILURE_AT,
  FIRST_SEEN_AT,
  NOT_BEFORE,
  ORIGIN_EXCHANGE,
  ORIGIN_QUEUE,
  ORIGIN_ROUTING_KEY,
  TOMBSTONE,
  carriedName,
  cutBytes,
  headerText,
} from '../message/headers.ts'

type Headers = Record<string, unknown>

export const REASON = 'consume-once-reason'
export const PARKED = 'consume-once-parked'
export const DEAD_LETTERED_AT = 'consume-once-dead-lettered-at'
export const SET_ASIDE_AT = 'consume-once-set-aside-at'
const KEY = 'consume-once-key'
export const CONSUMER = 'consume-once-consumer'
const DETAIL = 'consume-once-detail'
const ERROR_CLASS = 'consume-once-error-class'
const ATTEMPTS = 'consume-once-attempts'

const MOST_DETAIL_BYTES = 1024
const MOST_NAME_BYTES = 255

/** The headers that explain a dead letter. */
export function deadLetterHeaders(deadLetter: DeadLetter, at: EpochMs): Headers {
  return {
    [REASON]: named(deadLetter.reason), // mutant: rabbit-dead-letter-without-a-reason
    ...(deadLetter.parked ? { [PARKED]: true } : {}),
    [DEAD_LETTERED_AT]: new Date(at).toISOString(),
    ...(deadLetter.setAsideAt === undefined ? {} : { [SET_ASIDE_AT]: new Date(deadLetter.setAsideAt).toISOString() }),
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
  if ((isTold && isRepeated !== true) || headerText(headers, REASON) !== named(reason)) return {}
  if (headerText(headers, CONSUMER) !== named(consumer)) return {}
  const kept: Headers = { 'consume-once-repeated': true }
  if (isTold) return kept
  for (const name of [DETAIL, ERROR_CLASS, FIRST_FAILURE_AT]) {
    const text = headerText(headers, name)
    if (text !== undefined) kept[name] = cutBytes(text, MOST_DETAIL_BYTES)
  }
  if (typeof headers[ATTEMPTS] === 'number') kept[ATTEMPTS] = headers[ATTEMPTS]
  return kept
}

/** The headers of a delayed copy: its queue, its due time, and its number of attempts. */
export function retryHeaders(copy: RetryCopy, { queue, delayMs }: DelayQueue, at: EpochMs): Headers {
  return {
    [DELAY_QUEUE]: queue,
    [NOT_BEFORE]: at + delayMs,
    ...commonHeaders(copy, at),
    ...(copy.why === 'failed' ? firstFailure(copy, at) : {}),
  }
}

/** The routing key with which a message was first published. A copy's own routing key is the name of a queue. */
export function originRoutingKey({ message }: MessageCopy): string {
  return carriedName(message.headers, ORIGIN_ROUTING_KEY) ?? RabbitMessage.rawOf(message)?.fields.routingKey ?? ''
}

function commonHeaders(copy: MessageCopy, at: EpochMs): Headers {
  const { message, errorClass } = copy
  const { headers, origin } = message
  const firstExchange = carriedName(headers, ORIGIN_EXCHANGE)
  return {
    ...(copy.key === undefined ? {} : { [KEY]: copy.key }),
    [DETAIL]: cutBytes(copy.detail, MOST_DETAIL_BYTES),
    ...(errorClass === undefined ? {} : { [ERROR_CLASS]: named(errorClass) }),
    [ATTEMPTS]: copy.attempts,
    [CONSUMER]: named(copy.consumer),
    'consume-once-host': named(hostname()),
    [FIRST_SEEN_AT]: timeIn(headers, FIRST_SEEN_AT) ?? new Date(firstSeenAt(copy, at)).toISOString(),
    [ORIGIN_QUEUE]: origin, // mutant: rabbit-origin-lost
    // A copy of a copy keeps the first origin of the message.
    [ORIGIN_EXCHANGE]: firstExchange ?? RabbitMessage.rawOf(message)?.fields.exchange ?? '',
    [ORIGIN_ROUTING_KEY]: originRoutingKey(copy),
    ...(message.value === null ? { [TOMBSTONE]: true } : {}),
  }
}

/** An earlier delivery of it may have failed in this process. */
function firstSeenAt({ message, firstFailureAt }: MessageCopy, at: EpochMs): EpochMs {
  return Math.min(RabbitMessage.arrivalOf(message) ?? at, firstFailureAt ?? at)
}

/** The time in an earlier copy, else now. */
function firstFailure({ message, firstFailureAt }: MessageCopy, at: EpochMs): Headers {
  return {
    [FIRST_FAILURE_AT]: timeIn(message.headers, FIRST_FAILURE_AT) ?? new Date(firstFailureAt ?? at).toISOString(),
  }
}

function timeIn(headers: MessageCopy['message']['headers'], name: string): string | undefined {
  const at = Date.parse(headerText(headers, name) ?? '')
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}

function named(text: string): string {
  return cutBytes(text, MOST_NAME_BYTES)
}
