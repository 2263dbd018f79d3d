import {
  COPY_HEADER,
  copyText,
  deadLetterIn,
  originTopicIn,
  type DeadLetterFacts,
  type Message,
} from '../../src/internal.ts'
import type { Envelope } from './envelope.ts'

type Headers = Readonly<Record<string, unknown>>

/** What the live consumer of this line's broker would get. @throws TypeError if the line names no topic and no queue */
export function messageOf(envelope: Envelope, line: number): Message {
  const { topic, queue } = envelope
  if (nonEmpty(queue) !== undefined) return rabbitMessage(envelope, String(queue), line)
  if (nonEmpty(topic) !== undefined) return kafkaMessage(envelope, String(topic), line)
  throw new TypeError('expected a topic or a queue')
}

function kafkaMessage(envelope: Envelope, topic: string, line: number): Message {
  const { partition = -1, offset = line, key, value, timestamp } = envelope
  const headers = headerRecord(envelope.headers, (bytes) => Buffer.from(bytes))
  const origin = originTopicIn(headers) ?? topic
  return {
    system: 'kafka',
    destination: topic,
    origin,
    position: `${partition}@${offset}`,
    key,
    value,
    headers,
    timestamp,
  }
}

function rabbitMessage(envelope: Envelope, queue: string, line: number): Message {
  const { properties, key, value, routingKey = '' } = envelope
  const { messageId, message_id: otherId, timestamp: seconds, headers: table } = properties
  const id = messageId ?? otherId
  const headers = isTable(table) ? (restored(table) as Headers) : headerRecord(envelope.headers, textOrBytes)
  return {
    system: 'rabbitmq',
    destination: queue,
    origin: copyText(headers, COPY_HEADER.originQueue) ?? queue,
    position: `file/${line}`,
    key: key ?? Buffer.from(copyText(headers, COPY_HEADER.originRoutingKey) ?? routingKey),
    // AMQP has no message without a body.
    value: value ?? (headers[COPY_HEADER.tombstone] === true ? null : Buffer.alloc(0)),
    headers,
    messageId: propertyText(id),
    timestamp: envelope.timestamp ?? (typeof seconds === 'number' ? seconds * 1000 : undefined),
  }
}

/** What the headers of this library tell. */
export function deadLetterFacts({ headers, origin, destination }: Message): DeadLetterFacts | undefined {
  const told = deadLetterIn(headers)
  return told && { ...told, destination: origin === destination ? undefined : origin }
}

/** Repeated names become arrays, and `__proto__` is an ordinary name. */
function headerRecord<T>(pairs: Envelope['headers'], valueOf: (value: string | Buffer) => T): Record<string, T | T[]> {
  const record = Object.create(null) as Record<string, T | T[]>
  for (const [name, given] of pairs) {
    const value = valueOf(given)
    const known = record[name]
    record[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value]
  }
  return record
}

function textOrBytes(value: string | Buffer): string {
  return typeof value === 'string' ? value : value.toString('utf8')
}

/** Bytes in a table of AMQP: JSON has none. */
export const BYTES = 'bytes'

function restored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(restored)
  if (!isTable(value)) return value
  const { '!': type, value: text } = value
  if (type === BYTES && typeof text === 'string') return Buffer.from(text, 'base64')
  const copy = Object.create(null) as Record<string, unknown>
  for (const [name, part] of Object.entries(value)) copy[name] = restored(part)
  return copy
}

/** JSON has numbers, AMQP has text alone: a producer that writes `42` there has sent `"42"`. */
function propertyText(value: unknown): string | undefined {
  return typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : undefined
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value)
}
