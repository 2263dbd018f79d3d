import { idBytes, type UnusableId } from './core/message-id.ts'
import type { Message } from './ports/message.ts'

/** The argument of an ID extractor: the message, with its payload decoded on first use. */
export interface IncomingMessage<Decoded> extends Message {
  /**
   * The decoded payload, before the schema check. Reading it decodes the payload; if that fails, the message has no
   * usable ID.
   */
  readonly payload: Decoded
}

/**
 * Returns the business identity of a message, as text or bytes. An ID that is `undefined`, empty, blank, longer than
 * 512 bytes or contains a lone surrogate is not usable: the message is dead-lettered.
 */
export type IdExtractor<Decoded = unknown> = (message: IncomingMessage<Decoded>) => string | Uint8Array | undefined

/** Messages for people. */
export const WHY_UNUSABLE: Readonly<Record<UnusableId, string>> = {
  missing: 'no message ID, or one that is repeated with different values',
  blank: 'the message ID is blank',
  'too-long': 'the message ID is longer than 512 bytes',
  'ill-formed': 'the message ID holds a lone surrogate',
}

/** ID extractors for the usual places. */
export const messageId: {
  /**
   * The first of these headers that exists. Values are compared as bytes; a header that is repeated with different
   * values gives no usable ID.
   */
  header(...names: readonly [string, ...string[]]): IdExtractor
  /** The AMQP property `messageId`. */
  property(): IdExtractor
} = {
  header: (...names) => {
    return (message) => {
      for (const name of names) {
        if (Object.hasOwn(message.headers, name)) return singleValue(message.headers[name])
      }
      return undefined
    }
  },
  property: () => (message) => intact(message.messageId),
}

/**
 * The pair (source, id) of a [CloudEvents 1.0](https://github.com/cloudevents/spec) event in binary mode, from Kafka or
 * AMQP headers.
 */
export function cloudEvent(): IdExtractor {
  const places = [
    ['ce_id', 'ce_source'],
    ['cloudEvents:id', 'cloudEvents:source'],
    ['cloudEvents_id', 'cloudEvents_source'],
  ] as const
  return ({ headers }) => {
    for (const [idName, sourceName] of places) {
      if (!Object.hasOwn(headers, idName) || !Object.hasOwn(headers, sourceName)) continue
      // Check each part alone: with an empty ID all events of one source would share one message ID.
      const id = idBytes(singleValue(headers[idName]))
      const source = idBytes(singleValue(headers[sourceName]))
      if (typeof id === 'string' || typeof source === 'string') return undefined
      return Buffer.concat([Buffer.from(`${source.length}:`), source, id])
    }
    return undefined
  }
}

/**
 * The default of `id`: the first that exists of the CloudEvents headers, the AMQP property `messageId`, and the usual
 * headers. Prefer a business ID of your own.
 */
export function standardId(): IdExtractor {
  const header = messageId.header('idempotency-key', 'message-id', 'x-message-id', 'x-deduplication-header', 'id')
  const event = cloudEvent()
  return (message) => event(message) ?? intact(message.messageId) ?? header(message)
}

function singleValue(value: unknown): string | Uint8Array | undefined {
  if (!Array.isArray(value)) return plainValue(value)
  const [first, ...others] = value.map(plainValue)
  if (first === undefined || others.some((other) => other === undefined || !sameBytes(first, other))) return undefined
  return first
}

/** An array inside the array is not a repeated header value. */
function plainValue(value: unknown): string | Uint8Array | undefined {
  if (typeof value === 'string') return intact(value)
  return value instanceof Uint8Array ? value : undefined
}

function sameBytes(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return bytesOf(a).equals(bytesOf(b))
}

function bytesOf(value: string | Uint8Array): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

/**
 * amqplib decodes header text as UTF-8 and turns every invalid byte into U+FFFD, so two different IDs could become
 * equal.
 */
function intact(text: string | undefined): string | undefined {
  return text?.includes('\uFFFD') === true ? undefined : text
}
