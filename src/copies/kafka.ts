import { timeIn } from '../foundation/clock.ts'
import { copyText, headerText } from './values.ts'
import { COPY_HEADER, type CopyHeader } from './vocabulary.ts'

type Headers = Readonly<Record<string, unknown>>

/** Topic names that Kafka accepts. */
const TOPIC_NAME: RegExp = /^[a-zA-Z0-9._-]{1,249}$/

export function isTopicName(topic: unknown): topic is string {
  return typeof topic === 'string' && TOPIC_NAME.test(topic)
}

/** The topic to which the message was first published, if its headers name one. Call it with `kafkaCopyHeaders(…)`. */
export function originTopicIn(headers: Headers): string | undefined {
  const named = copyText(headers, COPY_HEADER.originTopic)
  return isTopicName(named) ? named : undefined
}

/**
 * The names that copies on Kafka had in versions before both brokers shared one vocabulary, and the names of today.
 * Producers use these too. Copies on RabbitMQ have always had the names of today.
 */
const FORMER: readonly (readonly [former: string, now: CopyHeader])[] = [
  ['x-original-topic', COPY_HEADER.originTopic],
  ['x-original-partition', COPY_HEADER.originPartition],
  ['x-original-offset', COPY_HEADER.originOffset],
  ['x-original-timestamp', COPY_HEADER.originTimestamp],
  ['x-original-timestamp-type', COPY_HEADER.originTimestampType],
  ['x-original-key-present', COPY_HEADER.originKeyPresent],
  ['x-record-key', COPY_HEADER.key],
  ['x-attempts', COPY_HEADER.attempts],
  ['x-consumer', COPY_HEADER.consumer],
  ['x-consumer-group', COPY_HEADER.group],
  ['x-error-class', COPY_HEADER.errorClass],
  ['x-error-message', COPY_HEADER.detail],
  ['x-first-failure-at', COPY_HEADER.firstFailureAt],
  ['x-not-before', COPY_HEADER.notBefore],
  ['x-dead-letter-reason', COPY_HEADER.reason],
  ['x-parked', COPY_HEADER.parked],
  ['x-dead-lettered-at', COPY_HEADER.deadLetteredAt],
  ['x-set-aside-at', COPY_HEADER.setAsideAt],
]

const FORMER_NAMES: ReadonlyMap<string, CopyHeader> = new Map(FORMER)

const FORMER_ORIGIN = 'x-original-topic'
const OF_ORIGIN: ReadonlySet<CopyHeader> = new Set(
  FORMER.filter(([former]) => former.startsWith('x-original-')).map(([, now]) => now),
)

/** True if only a header of today tells the message from a redrive by a former version: see `isFormerRedrive`. */
export function hasFormerOrigin(headers: Headers): boolean {
  return Object.hasOwn(headers, FORMER_ORIGIN)
}

/**
 * The headers of a Kafka message, those of a copy by a former version under the names of today. A single header of these
 * names is a producer's and stays: a copy is known by the headers that all of them had together, with values of the right
 * form.
 */
export function kafkaCopyHeaders(headers: Headers): Headers {
  if (!Object.hasOwn(headers, FORMER_ORIGIN)) return headers
  if (isFormerCopy(headers)) return translated(headers, FORMER_NAMES)
  return isFormerRedrive(headers) ? translated(headers, new Map([[FORMER_ORIGIN, COPY_HEADER.originTopic]])) : headers
}

function isFormerCopy(headers: Headers): boolean {
  const [attempts, notBefore] = [headerText(headers, 'x-attempts'), headerText(headers, 'x-not-before')]
  const isRetry = notBefore !== undefined && /^\d{1,16}$/.test(notBefore)
  const isDeadLetter =
    headerText(headers, 'x-dead-letter-reason') !== undefined &&
    timeIn(headerText(headers, 'x-dead-lettered-at')) !== undefined
  return (
    isTopicName(headerText(headers, FORMER_ORIGIN)) &&
    /^(?:true|false)$/.test(headerText(headers, 'x-original-key-present') ?? '') &&
    /^\d{1,16}$/.test(attempts ?? '') &&
    (isRetry || isDeadLetter)
  )
}

/** A dead letter that a former version sent to another topic than its origin kept the origin only. */
function isFormerRedrive(headers: Headers): boolean {
  return (
    Object.hasOwn(headers, COPY_HEADER.replayId) &&
    !Object.hasOwn(headers, COPY_HEADER.originTopic) &&
    isTopicName(headerText(headers, FORMER_ORIGIN))
  )
}

/**
 * A former version that copied a copy of today kept what it did not know: all but the origin of it is older than what the
 * former version wrote.
 */
function translated(headers: Headers, names: ReadonlyMap<string, CopyHeader>): Headers {
  const hasOrigin = Object.hasOwn(headers, COPY_HEADER.originTopic)
  const kept = Object.keys(headers).filter((name) => !names.has(name))
  // Without a prototype, so that a header named `__proto__` is an ordinary property.
  const now = Object.create(null) as Record<string, unknown>
  for (const name of kept) now[name] = headers[name]
  for (const [former, name] of names) {
    if (!Object.hasOwn(headers, former)) continue
    if (!(hasOrigin && OF_ORIGIN.has(name))) now[name] = headers[former]
  }
  // The letter had Spring's names too if they name the same origin.
  const spring = headerText(headers, 'kafka_dlt-original-topic')
  if (spring !== undefined && spring === headerText(headers, FORMER_ORIGIN)) now[COPY_HEADER.springHeaders] = 'true'
  return now
}
