import { idBytes } from '../core/message-id.ts'
import { fingerprint, type FingerprintOptions } from './fingerprint.ts'
import { windowed, type WindowOptions } from './id-window.ts'
import { payloadId } from './payload-id.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import { sourceSequence } from './source-sequence.ts'

export type { IdExtractor, IncomingMessage } from '../ports/id-extractor.ts'

/** ID extractors for the usual places. */
export const messageId: {
  /**
   * The first of these headers that exists. Values are compared as bytes; a header that is repeated with different
   * values gives no usable ID.
   */
  header(...names: readonly [string, ...string[]]): IdExtractor
  /** The AMQP property `messageId`. */
  property(): IdExtractor
  /** A sender and the number it gave to the message (docs/sequences.md). @throws ConfigError `CONFIG_INVALID` */
  sourceSequence: typeof sourceSequence
  /**
   * The text, whole number or boolean at each of these JSON Pointers (RFC 6901) into the decoded payload. All of them
   * make the ID, and ("a", "bc") is another one than ("ab", "c"). A number counts as its text.
   *
   * @throws ConfigError `CONFIG_INVALID` for text that is no JSON Pointer
   */
  payload(...pointers: readonly [string, ...string[]]): IdExtractor
  /**
   * For messages without an ID: SHA-256 of the JSON payload in canonical form (RFC 8785). The order of members and the
   * way numbers are written do not count; a number that a double would round keeps its digits. Two intents of a user
   * with the same content are one message: see `window`. Payloads are not compared again (`onConflict`).
   *
   * @throws ConfigError `CONFIG_INVALID`
   */
  fingerprint(options?: FingerprintOptions): IdExtractor
  /**
   * Messages with the same ID are duplicates only in one window of their own timestamps. Two in different windows both
   * run, however close they are to its edge.
   *
   * @throws ConfigError `CONFIG_INVALID`
   */
  window<Decoded = unknown>(id: IdExtractor<Decoded>, options: WindowOptions): IdExtractor<Decoded>
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
  sourceSequence,
  payload: payloadId,
  fingerprint,
  window: windowed,
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
