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
  missing: 'no message ID',
  blank: 'the message ID is blank',
  'too-long': 'the message ID is longer than 512 bytes',
  'ill-formed': 'the message ID holds a lone surrogate',
}

/** ID extractors for the usual places. */
export const messageId: {
  /**
   * The first of these headers that is there, as text or bytes; a whole number, as AMQP knows them, counts as its decimal text
   * (`7` and `'7'` are one ID). A header repeated with one value, which AMQP writes as an array, counts once. Whatever else is
   * there is not usable, and no other header is looked at: a repeated header whose values differ, a number with a fraction or beyond
   * 2^53 (not exact), a boolean, a timestamp, a decimal, a table, null, text with U+FFFD.
   *
   * @throws Error for such a header, without its value; the message is dead-lettered as `no-id` with that reason
   */
  header(...names: readonly [string, ...string[]]): IdExtractor
  /** AMQP's `messageId` property. */
  property(): IdExtractor
} = {
  header: (...names) => {
    return (message) => {
      for (const name of names) {
        if (Object.hasOwn(message.headers, name)) return singleValue(name, message.headers[name])
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
      const id = idBytes(singleValue(idName, headers[idName]))
      const source = idBytes(singleValue(sourceName, headers[sourceName]))
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

/** @throws Error what is there is no ID */
function singleValue(name: string, value: unknown): string | Uint8Array | undefined {
  if (!Array.isArray(value)) return plainValue(name, value)
  const [first, ...others] = value.map((one) => plainValue(name, one))
  if (first !== undefined && others.some((other) => !sameBytes(first, other))) {
    throw new Error(`header ${JSON.stringify(name)}: repeated with different values`)
  }
  return first
}

/** Of an array that is an element of another nobody can say what it repeats. */
function plainValue(name: string, value: unknown): string | Uint8Array {
  if (typeof value === 'string' && intact(value) !== undefined) return value
  if (value instanceof Uint8Array) return value
  if (Number.isSafeInteger(value) || typeof value === 'bigint') return String(value)
  throw new Error(`header ${JSON.stringify(name)}: expected text, bytes or a whole number, got ${kindOf(value)}`)
}

/** Never the value: it may be an ID. */
function kindOf(value: unknown): string {
  if (typeof value === 'string') return 'text with U+FFFD, which stands for bytes that are not UTF-8'
  if (typeof value === 'number') {
    return Number.isInteger(value) ? 'a whole number beyond 2^53, which is not exact' : 'a number with a fraction'
  }
  if (typeof value !== 'object') return `a ${typeof value}`
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array within an array'
  // What amqplib makes of the types of AMQP that JavaScript lacks.
  const { '!': type } = value as { readonly '!'?: unknown }
  return type === 'timestamp' || type === 'decimal' ? `a ${type}` : 'a table'
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
