import { COPY_HEADER, describesCopy, isBrokerHeader, type CopyHeader } from '../../../src/internal.ts'
import { shortText } from './properties.ts'
import { writable } from './writable.ts'

/** A copy of a copy keeps the first origin of the message. */
const OF_ORIGIN: ReadonlySet<string> = new Set<CopyHeader>([
  COPY_HEADER.originQueue,
  COPY_HEADER.originExchange,
  COPY_HEADER.originRoutingKey,
])
const MOST_FOREIGN_BYTES = 32_768

/** Written by brokers, or read: these would route the copy to further queues. */
const ROUTING: ReadonlySet<string> = new Set(['CC', 'BCC'])

/** Headers that a copy keeps: the sender's headers, and the origin of the message from an earlier copy. */
export function headersToKeep(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // Without a prototype, so that a header named `__proto__` is an ordinary property.
  const kept = Object.create(null) as Record<string, unknown>
  const names = Object.keys(headers).filter((name) => !isOfBrokers(name) && !isStale(name))
  const sized = names.map((name) => ({ name, bytes: Buffer.byteLength(name) + sizeOf(headers[name]) }))
  const dropped: string[] = []
  let total = 0
  // The smallest first: an ID is small, a header that fills the table is not.
  for (const { name, bytes } of sized.toSorted((a, b) => a.bytes - b.bytes)) {
    total += bytes
    if (total <= MOST_FOREIGN_BYTES) kept[name] = writable(headers[name])
    else dropped.push(name)
  }
  if (dropped.length > 0) kept[COPY_HEADER.headersDropped] = cutBytes(dropped.join(', '), 1024)
  return kept
}

/** Written by Spring's `RepublishMessageRecoverer` about a dead letter. */
const OF_SPRING: ReadonlySet<string> = new Set([
  'x-exception-message',
  'x-exception-stacktrace',
  'x-original-exchange',
  'x-original-routingKey',
])

/**
 * Headers of a dead letter that its message had before, of any size. `isSprings`: Spring made the dead letter; on one
 * of the library or the broker, headers of Spring's names are the sender's.
 */
export function headersOfSender(
  headers: Readonly<Record<string, unknown>>,
  isSprings: boolean,
): Record<string, unknown> {
  const kept = Object.create(null) as Record<string, unknown>
  for (const name of Object.keys(headers)) {
    const isOfDeadLetter = isOfBrokers(name) || describesCopy(name) || (isSprings && OF_SPRING.has(name))
    if (!isOfDeadLetter) kept[name] = writable(headers[name])
  }
  return kept
}

/** A header as text; `undefined` if there is none. */
export function headerText(headers: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/**
 * The name of a queue or exchange, or a routing key, in a copy's headers. A value that is too long for a name was
 * forged.
 */
export function carriedName(headers: Readonly<Record<string, unknown>>, name: string): string | undefined {
  return shortText(headerText(headers, name))
}

/** Cuts text to `most` bytes of UTF-8, at a character boundary. */
export function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= most) return text
  let end = most
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

function isOfBrokers(name: string): boolean {
  return isBrokerHeader(name) || ROUTING.has(name)
}

/** Written by an earlier copy about an earlier delivery. */
function isStale(name: string): boolean {
  return describesCopy(name) && !OF_ORIGIN.has(name)
}

/** Limit of nested tables: deeper ones would be measured and written by unbounded recursion. */
const DEEPEST = 100

/** The approximate size of a header value in a frame. */
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
