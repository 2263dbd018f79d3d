import { idBytes } from '../core/message-id.ts'
import { isReservedHeader } from '../core/reserved-header.ts'
import { ConfigError } from '../foundation/errors.ts'
import { shownText } from '../foundation/shown.ts'
import { fingerprint, type FingerprintOptions } from './fingerprint.ts'
import { withTraits, type Explained } from './id-traits.ts'
import { decodedIdIn, foundInsteadOfId } from './id-value.ts'
import { windowed, type WindowOptions } from './id-window.ts'
import { payloadId } from './payload-id.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import { sourceSequence } from './source-sequence.ts'

export type { IdExtractor, IncomingMessage } from '../ports/id-extractor.ts'

/** ID extractors for the usual places. */
export const messageId: {
  /**
   * The first of these headers that exists: text, bytes or a whole number, which counts as its text. Values are compared
   * as bytes; a header that is repeated with different values gives no usable ID.
   *
   * @throws ConfigError `CONFIG_INVALID` for a header that the library writes into copies (`consume-once-…`)
   */
  header(...names: readonly [string, ...string[]]): IdExtractor
  /** The AMQP property `messageId`. */
  property(): IdExtractor
  /** A sender and the number it gave to the message (docs/guards.md). @throws ConfigError `CONFIG_INVALID` */
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
  header: headerId,
  property: () =>
    withTraits((message) => decodedIdIn(message.messageId), {
      explain: ({ messageId: found }) => `the AMQP property messageId holds ${foundInsteadOfId(found)}`,
    }),
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
  return withTraits(
    ({ headers }) => {
      for (const [idName, sourceName] of EVENT_HEADERS) {
        if (!Object.hasOwn(headers, idName) || !Object.hasOwn(headers, sourceName)) continue
        // Check each part alone: with an empty ID all events of one source would share one message ID.
        const id = idBytes(singleValue(headers[idName]))
        const source = idBytes(singleValue(headers[sourceName]))
        if (typeof id === 'string' || typeof source === 'string') return undefined
        return Buffer.concat([Buffer.from(`${source.length}:`), source, id])
      }
      return undefined
    },
    { explain: explainEvent },
  )
}

const EVENT_HEADERS = [
  ['ce_id', 'ce_source'],
  ['cloudEvents:id', 'cloudEvents:source'],
  ['cloudEvents_id', 'cloudEvents_source'],
] as const

const USUAL_HEADERS = ['idempotency-key', 'message-id', 'x-message-id', 'x-deduplication-header', 'id'] as const

/**
 * The default of `id`: the first that exists of the CloudEvents headers, the AMQP property `messageId`, and the usual
 * headers. Prefer a business ID of your own.
 */
export function standardId(): IdExtractor {
  const header = messageId.header(...USUAL_HEADERS)
  const event = cloudEvent()
  return withTraits((message) => event(message) ?? decodedIdIn(message.messageId) ?? header(message), {
    explain: ({ headers, messageId: property }) => {
      const name = USUAL_HEADERS.find((one) => Object.hasOwn(headers, one))
      if (name !== undefined) return explainHeader(name, headers[name])
      if (property !== undefined) return `the AMQP property messageId holds ${foundInsteadOfId(property)}`
      if (EVENT_HEADERS.flat().some((one) => Object.hasOwn(headers, one))) return explainEvent({ headers })
      return `none of the headers ${USUAL_HEADERS.join(', ')}, no AMQP property messageId, no CloudEvent`
    },
  })
}

/** @throws ConfigError `CONFIG_INVALID` for a header that only copies have, each with another value */
function headerId(...names: readonly [string, ...string[]]): IdExtractor {
  checkHeaderNames(names)
  return withTraits(
    ({ headers }) => {
      for (const name of names) {
        if (Object.hasOwn(headers, name)) return singleValue(headers[name])
      }
      return undefined
    },
    {
      explain: ({ headers }) => {
        const name = names.find((one) => Object.hasOwn(headers, one))
        if (name !== undefined) return explainHeader(name, headers[name])
        return names.length === 1 ? `no header ${names[0]}` : `none of the headers ${names.join(', ')}`
      },
    },
  )
}

function checkHeaderNames(names: readonly unknown[]): void {
  const problems = names.flatMap((name) => {
    if (typeof name !== 'string' || name === '') return `expected the name of a header, got ${shownText(name)}`
    // In capitals it is the same header, and no message would have it.
    if (!isReservedHeader(name.toLowerCase())) return []
    return `expected a header of your producers, got ${JSON.stringify(name)}: the library writes it, and each copy of a message has another value`
  })
  if (names.length === 0) problems.push('expected the name of at least one header, got none')
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `messageId.header: ${problem}`))
}

function singleValue(value: unknown): string | Uint8Array | undefined {
  if (!Array.isArray(value)) return decodedIdIn(value)
  // An array inside the array is not a repeated header value.
  const [first, ...others] = value.map(decodedIdIn)
  if (first === undefined || others.some((other) => other === undefined || !sameBytes(first, other))) return undefined
  return first
}

function explainHeader(name: string, value: unknown): string {
  if (!Array.isArray(value)) return `header ${name} holds ${foundInsteadOfId(value)}`
  const unusable = value.find((one) => decodedIdIn(one) === undefined) as unknown
  if (value.length === 0 || unusable !== undefined) return `header ${name} holds ${foundInsteadOfId(unusable)}`
  return `header ${name} is repeated with different values`
}

function explainEvent({ headers }: Pick<Explained, 'headers'>): string {
  const pair = EVENT_HEADERS.find((names) => names.some((name) => Object.hasOwn(headers, name)))
  if (pair === undefined) return `no CloudEvent (${EVENT_HEADERS.map((names) => names.join(' and ')).join('; ')})`
  const absent = pair.find((name) => !Object.hasOwn(headers, name))
  if (absent !== undefined) return `a CloudEvent without the header ${absent}`
  const [name] = pair.filter((one) => typeof idBytes(singleValue(headers[one])) === 'string')
  return explainHeader(name ?? pair[0], headers[name ?? pair[0]])
}

function sameBytes(a: string | Uint8Array, b: string | Uint8Array): boolean {
  return bytesOf(a).equals(bytesOf(b))
}

function bytesOf(value: string | Uint8Array): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
