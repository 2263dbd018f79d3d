import { isBrokerHeader } from '../../copies/vocabulary.ts'
import { isReservedHeader } from '../../core/reserved-header.ts'
import { describeError, hasCode, isConsumeOnceError, type ErrorCode } from '../../foundation/errors.ts'
import type { Message } from '../../ports/message.ts'

const REDACTED = '***'
/** Replaces a text of which nothing else is left. */
const ALL_REPEATED = '*** (all of this text repeats its message)'
const UNREADABLE = '*** (the message cannot be read, so what this text repeats of it is not known)'

/**
 * Number of payload bytes that are searched, and half of that for a whole message. Quotes of a message are nearly
 * always from its beginning.
 */
const SEARCHED = 8 * 1024

/** Number of consecutive characters that prose does not repeat by chance. */
const QUOTE = 16

/** `+447700900123`, `order-4711`, `a@b.example`, a UUID. */
const WORD = /[\p{L}\p{N}](?:[\p{L}\p{N}_@.+-]*[\p{L}\p{N}])?/gu
const DIGITS = /\d{4,}/g
const SHORTEST_WORD = 4
/** Shortest key or message ID that is searched for as a whole. */
const SHORTEST_ID = 3

/** AMQP tables may be nested. */
const DEEPEST = 4

/** Two blocks make a quote: every quote contains a whole block, wherever it begins. */
const BLOCK = QUOTE / 2
/** Limits of the time for one text. Beyond them the text counts as a repetition. */
const MOST_COMPARED = 50_000
const MOST_WORDS = 64

/**
 * Headers that this library or a broker writes on copies: places, times, counts and earlier errors. They contain
 * nothing of the producer's. A text that repeats one of them is a diagnosis.
 */
const OF_SPRING = /^kafka_(?:dlt|original)-/

function isProducers(name: string): boolean {
  return !isReservedHeader(name) && !isBrokerHeader(name) && !OF_SPRING.test(name)
}

/** Errors that only the library creates: their text contains nothing of a message. */
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

/**
 * Text of a value that was thrown for a message, without parts that repeat the message. Sentences of the library are
 * kept.
 */
export function redactedError(error: unknown, message: Message): string {
  const text = describeError(error)
  if (!isConsumeOnceError(error) || OF_HANDLERS.some((code) => hasCode(error, code))) return redacted(text, message)
  if (OWN_WORDS.some((code) => hasCode(error, code))) return text
  return redactedEnd(text, error.cause, message)
}

/** The detail of a dead letter and of an outcome: the library's own words unchanged, then the redacted error. */
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

/** If a text ends with the text of an error, redacts only that end; otherwise all of it. */
function redactedEnd(text: string, error: unknown, message: Message): string {
  const end = error === undefined ? '' : describeError(error)
  return end !== '' && text.endsWith(end)
    ? text.slice(0, text.length - end.length) + redacted(end, message)
    : redacted(text, message)
}

/**
 * Removes from the text of a handler, a schema or a client everything that repeats its message: quotes of 16 or more
 * characters, its key and message ID, and words with a digit or an `@`, which are numbers, addresses and IDs. Plain
 * words remain, even if they are a name.
 */
export function redacted(text: string, message: Message): string {
  try {
    const kept = withoutRanges(text, repeatedIn(text, message))
    return kept !== text && !/[\p{L}\p{N}]/u.test(kept) ? ALL_REPEATED : kept
  } catch {
    // A custom message object whose fields throw.
    return UNREADABLE
  }
}

type Range = readonly [from: number, to: number]

function repeatedIn(text: string, message: Message): readonly Range[] {
  const said = saidIn(message)
  const ids = new Set([message.key, message.messageId].flatMap((id) => textsIn(id, 0)))
  const quoted = quotedIn(text, said)
  const looked = new Map<string, boolean>()
  /** Searches for each word once. A text with more words than a person reads counts as a repetition. */
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
 * Finds parts of the text, of 16 or more characters, that the message also contains. Any 16 characters of the message
 * contain one of its blocks that begin at a multiple of 8. So only these blocks are looked up, and a match is extended
 * to both sides. The time is linear in both lengths: a handler that fails for a whole batch must not block the process.
 */
function quotedIn(text: string, said: string): readonly Range[] {
  const blocks = blocksOf(said)
  const quotes: Range[] = []
  let compared = 0
  let end = 0
  for (let at = 0; at + BLOCK <= text.length; at++) {
    let longest: Range = [at, at]
    for (const place of blocks.get(text.slice(at, at + BLOCK)) ?? []) {
      const [from, to] = sameAround(text, at, said, place, end)
      compared += to - from
      if (compared > MOST_COMPARED) return [...quotes, [end, text.length]]
      if (to - from > longest[1] - longest[0]) longest = [from, to]
    }
    const [from, to] = longest
    if (to - from < QUOTE) continue
    quotes.push(longest)
    end = to
    at = to - 1
  }
  return quotes
}

/** The offsets of each block in the message. */
function blocksOf(said: string): ReadonlyMap<string, readonly number[]> {
  const blocks = new Map<string, number[]>()
  for (let at = 0; at + BLOCK <= said.length; at += BLOCK) {
    const block = said.slice(at, at + BLOCK)
    const places = blocks.get(block)
    if (places === undefined) blocks.set(block, [at])
    else places.push(at)
  }
  return blocks
}

/** Extends a shared block to both sides while text and message are equal. It does not look before `end` in the text. */
function sameAround(text: string, at: number, said: string, place: number, end: number): Range {
  let before = 0
  while (at - before > end && before < place && text[at - before - 1] === said[place - before - 1]) before++
  let behind = BLOCK
  while (at + behind < text.length && text[at + behind] === said[place + behind]) behind++
  return [at - before, at + behind]
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
  const ofProducer = Object.entries(headers).flatMap(([name, header]) => (isProducers(name) ? [header] : [])) // mutant: own-headers-redacted
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
