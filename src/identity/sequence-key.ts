import { HIGHEST_NUMBER } from '../core/sequence.ts'
import type { Key } from '../core/record.ts'
import type { SourceKey } from '../ports/sequence-ledger.ts'

/** A source and the number of one of its messages. */
export interface Numbered {
  readonly source: string
  readonly number: bigint
}

const SOURCE_CHARACTERS = 24
const NUMBER_BYTES = 9
/** Characters of a key. */
export const SEQUENCE_KEY_LENGTH = 36

/** A text of its own for each pair: `17:meter-4`. */
export function numberedId({ source, number }: Numbered): string {
  return `${number}:${source}`
}

/** Inverse of `numberedId`; `undefined` for any other text or bytes. */
export function readNumberedId(id: string | Uint8Array): Numbered | undefined {
  const text = typeof id === 'string' ? id : Buffer.from(id.buffer, id.byteOffset, id.byteLength).toString()
  const [, digits, source] = /^(0|[1-9]\d{0,19}):(.+)$/s.exec(text) ?? []
  if (digits === undefined || source === undefined) return undefined
  const number = BigInt(digits)
  return number <= HIGHEST_NUMBER ? { source, number } : undefined
}

/**
 * Keys of stores that keep sequences: the source, then the number in nine bytes, base64url. Such a store, and a person
 * who has only the key, can read both from it.
 *
 * @param hashedSource - SHA-256 of scope and source, base64url
 */
export function sequenceKey(hashedSource: string, number: bigint): Key {
  return keyIn(hashedSource.slice(0, SOURCE_CHARACTERS), number)
}

export function keyIn(source: SourceKey, number: bigint): Key {
  const bytes = Buffer.alloc(NUMBER_BYTES)
  bytes.writeBigUInt64BE(number, NUMBER_BYTES - 8)
  return source + bytes.toString('base64url')
}

export function isSequenceKey(key: string): boolean {
  return key.length === SEQUENCE_KEY_LENGTH
}

/** `undefined`: a key without a number. */
export function readSequenceKey(key: Key): Numbered | undefined {
  if (!isSequenceKey(key)) return undefined
  const bytes = Buffer.from(key.slice(SOURCE_CHARACTERS), 'base64url')
  return bytes.length === NUMBER_BYTES && bytes[0] === 0
    ? { source: key.slice(0, SOURCE_CHARACTERS), number: bytes.readBigUInt64BE(1) }
    : undefined
}
