import {
  boundedText,
  COPY_HEADER,
  deadLetterIn,
  describesCopy,
  headerText,
  isTopicName,
  originTopicIn,
  type DeadLetterFacts,
  type Message,
} from '../../../src/internal.ts'
import { hasSpringHeaders, isSpringHeader } from './origin.ts'

/** Who else names the topic of first publication, and how. The first that is there counts. */
const FOREIGN_DESTINATIONS = [
  'x-original-topic', // Spring Cloud Stream
  'kafka_dlt-original-topic', // Spring Kafka
  'kafka_original-topic', // Spring Kafka, its retry topics
  '__connect.errors.topic', // Kafka Connect
  'dead-letter-topic', // SmallRye, Quarkus
]

/** Headers that others write to their dead letters begin with these. */
const FOREIGN_PREFIXES = [
  'kafka_dlt-',
  'kafka_original-',
  'kafka_exception-',
  'retry_topic-',
  'x-exception-',
  '__connect.errors.',
  'dead-letter-',
]

/** Written by Spring Cloud Stream beside `x-exception-…`. A producer may use it without being a dead letter. */
const SPRING_CLOUD_STREAM = 'x-original-'

/** `undefined`: no header says that the message is a dead letter. A copy that waits for its next attempt is none. */
export function deadLetterFacts({ headers }: Message): DeadLetterFacts | undefined {
  const own = deadLetterIn(headers)
  if (own === undefined) return foreignFacts(headers)
  const group = own.group ?? optional(headerText(headers, 'kafka_dlt-original-consumer-group'))
  return { ...own, group, destination: originTopicIn(headers) }
}

/** A topic of first publication alone says nothing: what was redriven may keep that. */
function foreignFacts(headers: Message['headers']): DeadLetterFacts | undefined {
  if (Object.hasOwn(headers, COPY_HEADER.notBefore) || !Object.keys(headers).some(isForeign)) return undefined
  const destination = FOREIGN_DESTINATIONS.map((name) => headerText(headers, name)).find(isTopicName)
  if (destination === undefined) return undefined
  const group = optional(headerText(headers, 'kafka_dlt-original-consumer-group'))
  return { reason: undefined, parked: false, since: undefined, consumer: undefined, group, destination }
}

function isForeign(name: string): boolean {
  return FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix))
}

/**
 * True for a header that describes the dead letter, and that its message did not have. The headers of another program
 * describe it only if that program made the dead letter; on a dead letter of the library its producer sent them.
 */
export function describesDeadLetter(message: Message): (name: string) => boolean {
  if (deadLetterIn(message.headers) === undefined && foreignFacts(message.headers) !== undefined) {
    return (name) => describesCopy(name) || isForeign(name) || name.startsWith(SPRING_CLOUD_STREAM)
  }
  const hasSpring = hasSpringHeaders(message)
  return (name) => describesCopy(name) || (hasSpring && isSpringHeader(name))
}

function optional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : boundedText(text)
}
