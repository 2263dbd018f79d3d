import { randomBytes } from 'node:crypto'
import { StoreError, type ClaimItem, type Digest, type Key } from '../../src/internal.ts'

const CHARACTERS = 22
const ALPHABET = /^[A-Za-z0-9_-]*$/
const BYTES = 16
/** src/identity/sequence-key.ts */
const SOURCE_CHARACTERS = 24
const NUMBERED_CHARACTERS = 36

/** Key and digest of a claim in the form of the tables, in hex. */
export interface StoredKey {
  readonly key: string
  /** `null` if digests are not compared. */
  readonly fp: string | null
}

export interface StoredItem extends StoredKey {
  readonly item: ClaimItem
}

function storedItem(item: ClaimItem): StoredItem {
  return { item, key: hexOf(item.key), fp: storedDigest(item.digest) }
}

export function storedDigest(digest: Digest): string | null {
  return digest === '' ? null : hexOf(digest)
}

/** As `storedItem`, for tables that also take keys of sequences. */
export function storedNumbered(item: ClaimItem): StoredItem {
  return { item, key: hexOfNumbered(item.key), fp: storedDigest(item.digest) }
}

/** Keys as `storedItems` makes them, or as `storedNumbered` does. */
export interface KeyForm {
  readonly items: (items: readonly ClaimItem[]) => readonly StoredItem[]
  readonly hexOf: (key: Key) => string
}

/** Converts all in one call: one by one takes several times as long. */
function storedItems(items: readonly ClaimItem[]): readonly StoredItem[] {
  let texts = ''
  for (const { key, digest } of items) {
    checkLength(key)
    if (digest !== '') checkLength(digest)
    texts += `${key}${FILL}${digest === '' ? NO_DIGEST : digest}${FILL}`
  }
  if (!ALPHABET.test(texts)) return items.map(storedItem)
  const hex = Buffer.from(texts, 'base64url').toString('hex')
  return items.map((item, index) => {
    const at = 2 * index * FILLED
    const fp = item.digest === '' ? null : hex.slice(at + FILLED, at + FILLED + 2 * BYTES)
    return { item, key: hex.slice(at, at + 2 * BYTES), fp }
  })
}

/** Fills 22 characters up to a whole number of bytes: 18 bytes, 36 hex digits. */
const FILL = 'AA'
const FILLED = 36
const NO_DIGEST = 'A'.repeat(CHARACTERS)

/** Inverse of `hexOf`. Several spellings have the same 128 bits; it returns the canonical one. */
export function keyOf(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url')
}

/** The first 128 of the 132 bits in 22 characters. */
export function hexOf(text: Key | Digest): string {
  checkLength(text)
  if (!ALPHABET.test(text)) throw misused(text)
  return Buffer.from(text, 'base64url').toString('hex', 0, BYTES)
}

/** A key that nobody else has, in hex. */
export function randomKey(): string {
  return randomBytes(BYTES).toString('hex')
}

/** As `hexOf`, also for a source of 24 characters, and for a source with a number, of 36: these are whole bytes. */
export function hexOfNumbered(text: Key): string {
  if (text.length !== SOURCE_CHARACTERS && text.length !== NUMBERED_CHARACTERS) return hexOf(text)
  if (!ALPHABET.test(text)) throw misused(text)
  return Buffer.from(text, 'base64url').toString('hex')
}

function checkLength(text: Key | Digest): void {
  if (text.length !== CHARACTERS) throw misused(text)
}

function misused(text: Key | Digest): StoreError {
  const got = JSON.stringify(text.slice(0, 40))
  return new StoreError('STORE_MISUSED', `expected a key or digest of 22 characters of base64url, got ${got}`)
}

/** The order in which all transactions take their keys, so that two batches cannot deadlock. */
export function inKeyOrder<T extends StoredKey>(items: readonly T[]): readonly T[] {
  return items.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

export const PLAIN_KEYS: KeyForm = { items: storedItems, hexOf }
export const NUMBERED_KEYS: KeyForm = { items: (items) => items.map(storedNumbered), hexOf: hexOfNumbered }
