import { describeError, hasCode, isConsumeOnceError, type ErrorCode } from '../errors.ts'
import type { Message } from '../ports/message.ts'

const REDACTED = '***'
/** A text of which nothing else is left says at least why. */
const ALL_REPEATED = '*** (all of this text repeats its message)'
const UNREADABLE = '*** (the message cannot be read, so what this text repeats of it is not known)'

/** Of a payload, and of all that is looked through: what is quoted of a message is nearly always from its beginning. */
const SEARCHED = 8 * 1024

/** Characters in a row that no prose repeats by chance. */
const QUOTE = 16

/** `+447700900123`, `order-4711`, `a@b.example`, a UUID. */
const WORD = /[\p{L}\p{N}](?:[\p{L}\p{N}_@.+-]*[\p{L}\p{N}])?/gu
const DIGITS = /\d{4,}/g
const SHORTEST_WORD = 4
/** A whole key or message ID. */
const SHORTEST_ID = 3

/** Tables of AMQP hold tables. */
const DEEPEST = 4

/** Bounds of the time for one text. What would take longer is taken for a repetition. */
const MOST_COMPARED = 20_000
const MOST_WORDS = 64

/**
 * Written by this library on its copies, or by a broker: they tell places, times, counts and earlier errors, of which nothing is
 * the producer's. A text that repeats one of them is a diagnosis.
 */
const NOT_OF_PRODUCERS =
  /^(?:consume-once-|kafka_dlt-|kafka_original-|x-(?:original-|dead-letter|set-aside-at$|error-|consumer|first-|last-death-|death$|delivery-count$|acquired-count$|attempts$|not-before$|parked$))/

/** What only the library says: its text holds nothing of a message. */
const OWN_WORDS: readonly ErrorCode[] = [
  'LEASE_LOST',
  'DELIVERY_LOST',
  'HANDLER_TIMEOUT',
  'STOPPED',
  'FLOATING_QUERY',
  'TRANSACTION_OVER',
  'INVARIANT_BROKEN',
]
const OF_HANDLERS: readonly ErrorCode[] = ['TERMINAL', 'NO_EFFECT', 'OUTCOME_UNKNOWN']

/** Message of anything that was thrown for a message, without what it repeats of it. Sentences of the library stay whole. */
export function redactedError(error: unknown, message: Message): string {
  const text = describeError(error)
  if (!isConsumeOnceError(error) || OF_HANDLERS.some((code) => hasCode(error, code))) return redacted(text, message)
  if (OWN_WORDS.some((code) => hasCode(error, code))) return text
  return redactedEnd(text, error.cause, message)
}

/** What a letter and an outcome say of a failure: the library's own words, as they are, and behind them what was thrown. */
export function redactedDetail(
  { detail, error }: { readonly detail: string; readonly error?: unknown },
  message: Message,
): string {
  if (error === undefined) return detail
  const text = describeError(error)
  return detail.endsWith(text)
    ? detail.slice(0, detail.length - text.length) + redactedError(error, message)
    : redacted(detail, message)
}

/** Of a text that ends with that of an error. */
function redactedEnd(text: string, error: unknown, message: Message): string {
  const end = error === undefined ? '' : describeError(error)
  return end !== '' && text.endsWith(end)
    ? text.slice(0, text.length - end.length) + redacted(end, message)
    : redacted(text, message)
}

/**
 * What a handler, a schema or a client wrote about a message, without what it repeats of that message: quotes of 16 characters and
 * more, its key and message ID, and words with a digit or an `@`, which are numbers, addresses and IDs. Plain words pass, also
 * where they are a name.
 */
export function redacted(text: string, message: Message): string {
  try {
    const kept = withoutRanges(text, repeatedIn(text, message))
    return kept !== text && !/[\p{L}\p{N}]/u.test(kept) ? ALL_REPEATED : kept
  } catch {
    // A message of the user's own making, whose fields throw when they are read.
    return UNREADABLE
  }
}

type Range = readonly [from: number, to: number]

function repeatedIn(text: string, message: Message): readonly Range[] {
  const said = saidIn(message)
  const ids = new Set([message.key, message.messageId].flatMap((id) => textsIn(id, 0)))
  const quoted = quotedIn(text, said)
  const looked = new Map<string, boolean>()
  /** Each is looked for once. A text of more of them than a person reads is taken for a repetition. */
  const isSaid = (word: string): boolean => {
    const known = looked.get(word)
    if (known !== undefined) return known
    const found = looked.size >= MOST_WORDS || said.includes(word)
    looked.set(word, found)
    return found
  }
  const repeated: Range[] = [...quoted]
  for (const match of text.matchAll(WORD)) {
    const [word] = match
    const isId = word.length >= SHORTEST_ID && ids.has(word)
    const isTelling = word.length >= SHORTEST_WORD && /[\d@]/.test(word) && !isWithin(quoted, match)
    if (isId || (isTelling && isSaid(word))) repeated.push(rangeOf(match))
  }
  for (const match of text.matchAll(DIGITS)) {
    if (!isWithin(quoted, match) && isSaid(match[0])) repeated.push(rangeOf(match))
  }
  return repeated
}

function rangeOf(match: RegExpExecArray): Range {
  return [match.index, match.index + match[0].length]
}

function isWithin(ranges: readonly Range[], match: RegExpExecArray): boolean {
  const [from, to] = rangeOf(match)
  return ranges.some(([begin, end]) => begin <= from && to <= end)
}

/**
 * What of the text, in 16 characters and more from the beginning of a word on, the message has too. One pass over the message,
 * with a rolling hash: its size is what takes time, and handlers that fail for a whole batch must not hold up the process.
 */
function quotedIn(text: string, said: string): readonly Range[] {
  const places = placesByHash(text)
  if (places.size === 0 || said.length < QUOTE) return []
  // Most of the message is none of it, which costs less to see here than in a map.
  const mayBegin = new Uint8Array(SIEVE + 1)
  for (const hash of places.keys()) mayBegin[hash & SIEVE] = 1
  const lengths = new Map<number, number>()
  /** How far a repetition reaches in the message, by how far it has moved. */
  const ends = new Map<number, number>()
  let compared = 0
  let hash = hashAt(said, 0)
  for (let at = 0; ; at++) {
    const same = mayBegin[hash & SIEVE] === 0 ? undefined : places.get(hash)
    for (const place of same ?? []) {
      let end = Math.max(at, ends.get(at - place) ?? 0)
      compared += 1 - end
      while (end - at + place < text.length && said.charAt(end) === text.charAt(end - at + place)) end++
      compared += end
      if (compared > MOST_COMPARED) return [[0, text.length]]
      ends.set(at - place, end)
      if (end - at >= QUOTE) lengths.set(place, Math.max(end - at, lengths.get(place) ?? 0))
    }
    if (at + QUOTE >= said.length) break
    hash = moved(hash, said, at)
  }
  return [...lengths].map(([place, length]) => [place, place + length] as const)
}

/** Where a quote may begin: not within a word. */
function placesByHash(text: string): ReadonlyMap<number, readonly number[]> {
  const places = new Map<number, number[]>()
  if (text.length < QUOTE) return places
  let hash = hashAt(text, 0)
  for (let at = 0; ; at++) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text.charAt(at - 1))) {
      const same = places.get(hash)
      if (same === undefined) places.set(hash, [at])
      else same.push(at)
    }
    if (at + QUOTE >= text.length) return places
    hash = moved(hash, text, at)
  }
}

const SIEVE = 0xfff
const BASE = 31
const OF_LEAVING = Array.from({ length: QUOTE }).reduce<number>((power) => Math.imul(power, BASE), 1)

/** Of the 16 characters from here on. */
function hashAt(text: string, at: number): number {
  let hash = 0
  for (let next = at; next < at + QUOTE; next++) hash = (Math.imul(hash, BASE) + text.charCodeAt(next)) | 0
  return hash
}

/** Of those that begin one character later. */
function moved(hash: number, text: string, at: number): number {
  const grown = Math.imul(hash, BASE) + text.charCodeAt(at + QUOTE)
  return (grown - Math.imul(text.charCodeAt(at), OF_LEAVING)) | 0
}

function withoutRanges(text: string, ranges: readonly Range[]): string {
  let kept = ''
  let at = 0
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (to <= at) continue
    if (from >= at) kept += text.slice(at, from) + REDACTED
    at = to
  }
  return kept + text.slice(at)
}

function saidIn({ value, key, messageId, headers }: Message): string {
  const ofProducer = Object.entries(headers).flatMap(([name, header]) => (NOT_OF_PRODUCERS.test(name) ? [] : [header]))
  return textsIn([value, key, messageId, ofProducer], 0)
    .join('\n')
    .slice(0, 2 * SEARCHED)
}

function textsIn(value: unknown, depth: number): readonly string[] {
  if (typeof value === 'string') return [value.slice(0, SEARCHED)]
  if (typeof value === 'number' || typeof value === 'bigint') return [String(value)]
  if (value instanceof Uint8Array) {
    return [Buffer.from(value.buffer, value.byteOffset, Math.min(value.length, SEARCHED)).toString('utf8')]
  }
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return []
  return Object.values(value).flatMap((inner) => textsIn(inner, depth + 1))
}
