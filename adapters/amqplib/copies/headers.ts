import { shortText } from './properties.ts'

/** Queue a copy comes from: the message's origin, and so part of its scope. */
export const ORIGIN_QUEUE = 'consume-once-origin-queue'
export const ORIGIN_EXCHANGE = 'consume-once-origin-exchange'
export const ORIGIN_ROUTING_KEY = 'consume-once-origin-routing-key'
export const FIRST_SEEN_AT = 'consume-once-first-seen-at'
export const FIRST_FAILURE_AT = 'consume-once-first-failure-at'
/** Where a copy waited, and until when, in milliseconds since 1970. */
export const DELAY_QUEUE = 'consume-once-delay-queue'
export const NOT_BEFORE = 'consume-once-not-before'
/** `true`: the message has no value, which AMQP cannot say. */
export const TOMBSTONE = 'consume-once-tombstone'
/** Tells a returned message from another: a return carries no sequence number. */
export const PUBLISH_ID = 'consume-once-publish-id'

const OWN = 'consume-once-'
const ORIGIN = 'consume-once-origin-'
const MOST_FOREIGN_BYTES = 32_768

/**
 * Written by brokers: about the delivery, not about the message. `CC` and `BCC` would route the copy to further queues.
 */
const OF_BROKERS = /^(?:x-death|x-delivery-count|x-acquired-count|x-first-death-.*|x-last-death-.*|CC|BCC)$/

/** Headers that a copy carries along: the sender's, and from an earlier copy where the message first was. */
export function headersToKeep(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // Without a prototype, which a header named `__proto__` would become.
  const kept = Object.create(null) as Record<string, unknown>
  const names = Object.keys(headers).filter((name) => !OF_BROKERS.test(name) && !isStale(name))
  const sized = names.map((name) => ({ name, bytes: Buffer.byteLength(name) + sizeOf(headers[name]) }))
  const dropped: string[] = []
  let total = 0
  // The smallest first: an ID is small, what fills a header table is not.
  for (const { name, bytes } of sized.toSorted((a, b) => a.bytes - b.bytes)) {
    total += bytes
    if (total <= MOST_FOREIGN_BYTES) kept[name] = headers[name]
    else dropped.push(name)
  }
  if (dropped.length > 0) kept['consume-once-headers-dropped'] = cutBytes(dropped.join(', '), 1024)
  return kept
}

/** A header as text; `undefined` where there is none. */
export function headerText(headers: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** The name of a queue or exchange, or a routing key, that a copy carries along. What is too long to be one was forged. */
export function carriedName(headers: Readonly<Record<string, unknown>>, name: string): string | undefined {
  return shortText(headerText(headers, name))
}

/** At most so many bytes of UTF-8, without half a character at the end. */
export function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return text
  let end = most
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** Said by an earlier copy about an earlier life. */
function isStale(name: string): boolean {
  return name.startsWith(OWN) && !name.startsWith(ORIGIN) && name !== TOMBSTONE
}

/** Tables within tables: what lies deeper would be measured and written by recursion, which has an end. */
const DEEPEST = 100

/** Roughly what a header value takes in a frame. */
function sizeOf(value: unknown, depth: number = 0): number {
  if (typeof value === 'string') return 5 + Buffer.byteLength(value)
  if (value instanceof Uint8Array) return 5 + value.byteLength
  if (typeof value !== 'object' || value === null) return 9
  if (depth === DEEPEST) return Number.POSITIVE_INFINITY
  return Object.entries(value).reduce(
    (sum, [name, part]) => sum + 1 + Buffer.byteLength(name) + sizeOf(part, depth + 1),
    5,
  )
}
