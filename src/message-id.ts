import { idBytes, type UnusableId } from './core/message-id.ts'
import type { Message } from './ports/message.ts'

/** What an ID extractor sees: the message, and its payload decoded on first use. */
export interface IncomingMessage<Decoded> extends Message {
  /** Decoded, not yet checked by the schema. Reading it decodes; what cannot be decoded has no ID by this way. */
  readonly payload: Decoded
}

/**
 * The business identity of a message, as text or bytes. `undefined`, empty, blank, over 512 bytes or with a lone surrogate:
 * not usable, `onMissingId` decides.
 */
export type IdExtractor<Decoded = unknown> = (message: IncomingMessage<Decoded>) => string | Uint8Array | undefined

/** For people. */
export const WHY_UNUSABLE: Readonly<Record<UnusableId, string>> = {
  missing: 'no message ID, or one that is repeated with different values',
  blank: 'the message ID is blank',
  'too-long': 'the message ID is longer than 512 bytes',
  'ill-formed': 'the message ID holds a lone surrogate',
}

/** ID extractors for the usual places. */
export const messageId: {
  /** The first of these headers that is there. Compared as bytes; a header repeated with different values is not usable. */
  header(...names: readonly [string, ...string[]]): IdExtractor
  /** AMQP's `messageId` property. */
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

/** [CloudEvents 1.0](https://github.com/cloudevents/spec): (source, id), binary mode headers of Kafka and AMQP. */
export function cloudEvent(): IdExtractor {
  const places = [
    ['ce_id', 'ce_source'],
    ['cloudEvents:id', 'cloudEvents:source'],
    ['cloudEvents_id', 'cloudEvents_source'],
  ] as const
  return ({ headers }) => {
    for (const [idName, sourceName] of places) {
      if (!Object.hasOwn(headers, idName) || !Object.hasOwn(headers, sourceName)) continue
      // Each must be usable by itself: an empty ID beside a good source would be one for all events of that source.
      const id = idBytes(singleValue(headers[idName]))
      const source = idBytes(singleValue(headers[sourceName]))
      if (typeof id === 'string' || typeof source === 'string') return undefined
      return Buffer.concat([Buffer.from(`${source.length}:`), source, id])
    }
    return undefined
  }
}

/**
 * What is used when `id` is omitted: the first place that is there, of CloudEvents, the AMQP property, and the usual
 * headers. A business ID of your own is always better than a guess.
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

/** Of an array that is an element of another nobody can say what it repeats. */
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

/** A client that decodes header text as UTF-8 (amqplib does) turns different broken bytes into the same U+FFFD. */
function intact(text: string | undefined): string | undefined {
  return text?.includes('\uFFFD') === true ? undefined : text
}
