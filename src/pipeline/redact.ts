import type { Message } from '../ports/message.ts'

const REDACTED = '***'

/** Of a payload, and of all that is looked through: what is quoted of a message is nearly always from its beginning. */
const SEARCHED = 8 * 1024

/** Characters in a row that no prose repeats by chance. */
const QUOTE = 16

/** `+447700900123`, `order-4711`, `a@b.example`, a UUID. */
const WORD = /[\p{L}\p{N}](?:[\p{L}\p{N}_@.+-]*[\p{L}\p{N}])?/gu
const DIGITS = /\d{4,}/g
const SHORTEST_WORD = 4

/** Tables of AMQP hold tables. */
const DEEPEST = 4

/**
 * What a handler, a schema or a client wrote about a message, without what it repeats of that message: quotes of 16 characters and
 * more, and words with a digit or an `@`, which are numbers, addresses and IDs. Plain words pass, also where they are a name.
 */
export function redacted(text: string, message: Message): string {
  try {
    const said = saidIn(message)
    return withoutQuotes(text, said)
      .replaceAll(WORD, (word) => {
        return word.length >= SHORTEST_WORD && /[\d@]/.test(word) && said.includes(word) ? REDACTED : word
      })
      .replaceAll(DIGITS, (digits) => (said.includes(digits) ? REDACTED : digits))
  } catch {
    // A message of the user's own making, whose fields throw when they are read.
    return REDACTED
  }
}

function withoutQuotes(text: string, said: string): string {
  let kept = ''
  let at = 0
  while (at < text.length) {
    const length = quotedAt(text, at, said)
    kept += length === 0 ? text.charAt(at) : REDACTED
    at += Math.max(length, 1)
  }
  return kept
}

/** How many characters from here on stand in the message too; 0 where they are few. Not asked within a word. */
function quotedAt(text: string, at: number, said: string): number {
  if (at + QUOTE > text.length || /[\p{L}\p{N}]/u.test(text.charAt(at - 1))) return 0
  const found = said.indexOf(text.slice(at, at + QUOTE))
  if (found < 0) return 0
  let length = QUOTE
  while (at + length < text.length && text.charAt(at + length) === said.charAt(found + length)) length++
  return length
}

function saidIn({ value, key, messageId, headers }: Message): string {
  return textsIn([value, key, messageId, headers], 0)
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
