import type { DeadLetterFacts, EpochMs, Message } from '../../../src/spi.ts'
import { isTopicName } from '../options/topic-name.ts'
import { bounded, OF_ONE_COPY } from './copy-headers.ts'
import { headerText, ORIGIN_HEADER } from './headers.ts'
import { isCopy } from './origin.ts'
import { NOT_BEFORE_HEADER } from './retry-headers.ts'

const REASON_HEADER = 'x-dead-letter-reason'

/** Who names the topic of first publication, and how. The first that is there counts. */
const DESTINATION_HEADERS = [
  ORIGIN_HEADER, // this library, Spring Cloud Stream
  'kafka_dlt-original-topic', // Spring Kafka
  'kafka_original-topic', // Spring Kafka, its retry topics
  '__connect.errors.topic', // Kafka Connect
  'dead-letter-topic', // SmallRye, Quarkus
]

/** Headers that others write to their copies begin with these. */
const FOREIGN_PREFIXES = [
  'kafka_dlt-',
  'kafka_original-',
  'kafka_exception-',
  'retry_topic-',
  'x-exception-',
  '__connect.errors.',
  'dead-letter-',
]

/** Headers that our copies keep from one to the next. */
const OF_EVERY_COPY: ReadonlySet<string> = new Set([
  ORIGIN_HEADER,
  'x-original-partition',
  'x-original-offset',
  'x-original-timestamp',
  'x-original-timestamp-type',
  'x-original-key-present',
  'x-first-failure-at',
])

/** `undefined`: no header says that the message is a dead letter. A copy that waits for its next attempt is none. */
export function deadLetterFacts({ headers }: Message): DeadLetterFacts | undefined {
  const reason = headerText(headers, REASON_HEADER)
  const destination = DESTINATION_HEADERS.map((name) => headerText(headers, name)).find(isTopicName)
  if (reason === undefined && (destination === undefined || !isForeignDeadLetter(headers))) return undefined
  return {
    reason: optional(reason),
    parked: headerText(headers, 'x-parked') === 'true',
    since: timeIn(headers, 'x-set-aside-at') ?? timeIn(headers, 'x-dead-lettered-at'),
    consumer: optional(headerText(headers, 'x-consumer')),
    group: optional(
      headerText(headers, 'x-consumer-group') ?? headerText(headers, 'kafka_dlt-original-consumer-group'),
    ),
    destination,
  }
}

/** A topic of first publication alone says nothing: what was redriven keeps that. */
function isForeignDeadLetter(headers: Message['headers']): boolean {
  return !Object.hasOwn(headers, NOT_BEFORE_HEADER) && Object.keys(headers).some(isForeign)
}

function isForeign(name: string): boolean {
  return FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/** True for a header that describes the copy, and that the original message did not have. */
export function describesCopy(message: Message): (name: string) => boolean {
  const isOurs = isCopy(message)
  const isDeadLetter = deadLetterFacts(message) !== undefined
  return (name) => (isOurs && (OF_ONE_COPY.has(name) || OF_EVERY_COPY.has(name))) || (isDeadLetter && isForeign(name))
}

function optional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : bounded(text)
}

function timeIn(headers: Message['headers'], name: string): EpochMs | undefined {
  const at = Date.parse(headerText(headers, name) ?? '')
  return Number.isNaN(at) ? undefined : at
}
