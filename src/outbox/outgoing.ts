import { hash } from 'node:crypto'
import { whyUnusable, WHY_UNUSABLE } from '../core/message-id.ts'
import { isTopicName } from '../copies/kafka.ts'
import { ConfigError } from '../foundation/errors.ts'
import { judged, needed, optionsOf, where, whole, type Complete, type Rule, type Table } from '../foundation/options.ts'
import type { KafkaOutgoing, Outgoing, OutgoingMessage, RabbitOutgoing } from '../ports/outbox.ts'

const isBytesOrText = (value: unknown): boolean => typeof value === 'string' || value instanceof Uint8Array
const AS_TEXT = { got: (value: unknown) => `${typeof value}; JSON.stringify() makes text of other values` }
const BYTES: Rule<Uint8Array | string> = where('bytes or text', isBytesOrText, AS_TEXT)
const BYTES_OR_NULL: Rule<Uint8Array | string | null> = where(
  'bytes, text or null',
  (value) => value === null || isBytesOrText(value),
  AS_TEXT,
)
const COMMON = {
  messageId: judged<string>('text of 1 to 255 bytes', whyNoId),
  order: where<string>('text', (value) => typeof value === 'string'),
}

/** AMQP has one byte for its length, and no database keeps the character 0. */
const NAME: Rule<string> = where(
  'text of at most 255 bytes without the character 0',
  (value) => typeof value === 'string' && Buffer.byteLength(value) <= 255 && !value.includes('\u0000'),
)

type Optional = 'key' | 'headers' | 'partition' | 'messageId' | 'order'
type OptionalOnRabbit = 'exchange' | 'headers' | 'properties' | 'messageId' | 'order'

const KAFKA: Table<KafkaOutgoing, Optional> = {
  ...COMMON,
  topic: needed(where('the name of a topic', isTopicName)),
  value: needed(BYTES_OR_NULL),
  key: BYTES_OR_NULL,
  headers: judged('an object of bytes and text', (headers) => {
    if (typeof headers !== 'object' || headers === null) return `expected an object of headers, got ${typeof headers}`
    const wrong = Object.entries(headers).find(([, value]) => !isBytesOrText(value))
    return wrong && `expected bytes or text, got another value in ${JSON.stringify(wrong[0])}`
  }),
  partition: whole({ least: 0 }),
}

const RABBIT: Table<RabbitOutgoing, OptionalOnRabbit> = {
  ...COMMON,
  exchange: NAME,
  routingKey: needed(NAME),
  body: needed(BYTES),
  headers: judged('an object of headers', whyNoJson),
  properties: judged('an object of properties', whyNoJson),
}

/** It is kept as JSON. */
function whyNoJson(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return `expected an object, got ${given === null ? 'null' : typeof given}`
  }
  const wrong = Object.entries(given).find(([, value]) => !isJson(value))
  return wrong && `expected values that JSON can carry, got another one in ${JSON.stringify(wrong[0])}`
}

function isJson(value: unknown): boolean {
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (Array.isArray(value)) return value.every(isJson)
  if (typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return false
  return Object.values(value).every(isJson)
}

const MOST_ID_BYTES = 255

function whyNoId(id: unknown): string | undefined {
  const unusable = typeof id === 'string' ? whyUnusable(id) : undefined
  if (typeof id === 'string' && unusable === undefined && Buffer.byteLength(id) <= MOST_ID_BYTES) return undefined
  const got = unusable === undefined ? (typeof id === 'string' ? 'a longer one' : typeof id) : WHY_UNUSABLE[unusable]
  return `expected text of 1 to ${MOST_ID_BYTES} bytes, got ${got}`
}

/** What a message takes from the run that publishes it. */
export interface From {
  /** W3C Trace Context of the run, for a message without one. */
  readonly traceparent?: string | undefined
  /** For its ID, if it names none. */
  readonly messageId: string
  /** For its line, if it names none. */
  readonly order: string
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function outgoingOf(message: OutgoingMessage, from: From): Outgoing {
  if (typeof message !== 'object' || message === null) {
    throw new ConfigError([`publish: expected a message, got ${message === null ? 'null' : typeof message}`])
  }
  if ('topic' in message) return toKafka(optionsOf('publish', KAFKA, message), from)
  if ('routingKey' in message) return toRabbit(optionsOf('publish', RABBIT, message), from)
  const text = 'publish: expected a topic (Kafka), or a routingKey with or without an exchange (RabbitMQ), got neither'
  throw new ConfigError([text])
}

function toKafka(message: Complete<KafkaOutgoing, Optional>, from: From): Outgoing {
  const { topic, value, key = null, headers = {}, partition, messageId = from.messageId, order } = message
  const bytes = key === null ? null : bytesOf(key)
  const line = order ?? (bytes === null ? from.order : Buffer.from(bytes).toString('latin1'))
  const all = withTrace(headers, from)
  const sent = Object.entries(all).map(([name, given]) => [name, Buffer.from(bytesOf(given)).toString('base64')])
  return {
    messageId,
    system: 'kafka',
    place: topic,
    line: lineOf('kafka', topic, line),
    key: bytes,
    value: value === null ? null : bytesOf(value),
    attributes: JSON.stringify({ headers: Object.fromEntries(sent), partition }),
  }
}

function toRabbit(message: Complete<RabbitOutgoing, OptionalOnRabbit>, from: From): Outgoing {
  const { exchange = '', routingKey, body, headers, properties, messageId = from.messageId, order } = message
  const place = exchange === '' ? routingKey : `${exchange}/${routingKey}`
  return {
    messageId,
    system: 'rabbitmq',
    place,
    line: lineOf('rabbitmq', place, order ?? from.order),
    key: null,
    value: bytesOf(body),
    attributes: JSON.stringify({ exchange, routingKey, headers: withTrace(headers ?? {}, from), properties }),
  }
}

function withTrace<Value>(
  headers: Readonly<Record<string, Value>>,
  { traceparent }: From,
): Readonly<Record<string, Value | string>> {
  return traceparent === undefined || 'traceparent' in headers ? headers : { ...headers, traceparent }
}

function lineOf(...parts: readonly string[]): number {
  return Buffer.from(hash('sha256', parts.join('\0'), 'hex').slice(0, 8), 'hex').readInt32BE()
}

function bytesOf(value: Uint8Array | string): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value
}

/** As the confirmed publishers of both brokers take it. */
export function published({
  system,
  place,
  messageId,
  key,
  value,
  attributes,
}: Outgoing): Readonly<Record<string, unknown>> {
  const { headers, ...more } = JSON.parse(attributes) as Readonly<Record<string, unknown>>
  if (system === 'rabbitmq') return { ...more, ...(headers !== undefined && { headers }), messageId, body: value ?? '' }
  const bytes = Object.entries((headers ?? {}) as Readonly<Record<string, string>>)
  return {
    ...more,
    topic: place,
    messageId,
    key,
    value,
    headers: Object.fromEntries(bytes.map(([name, text]) => [name, Buffer.from(text, 'base64')])),
  }
}
