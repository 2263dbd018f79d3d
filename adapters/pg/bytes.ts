import { StoreError, type ClaimItem, type Digest, type Key } from '../../src/index.ts'
import type { StoredKey } from './sql/claim-keys.ts'

const CHARACTERS = 22
const ALPHABET = /^[A-Za-z0-9_-]*$/
const BYTES = 16

/** A claim's key and digest as tables keep them. */
export interface StoredItem extends StoredKey {
  readonly item: ClaimItem
}

/** What a claim was granted. */
export interface TriedItem extends StoredItem {
  /** Starts of its handler, with this one. */
  readonly attempt: number
}

export function storedItem(item: ClaimItem): StoredItem {
  return { item, key: hexOf(item.key), fp: item.digest === '' ? null : hexOf(item.digest) }
}

/** All in one go: one by one they take several times as long. */
export function storedItems(items: readonly ClaimItem[]): readonly StoredItem[] {
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

/** With these, 22 characters are bytes and nothing more: 18, or so many digits. */
const FILL = 'AA'
const FILLED = 36
const NO_DIGEST = 'A'.repeat(CHARACTERS)

/** What `hexOf` was made of, for real keys: they have 128 bits. */
export function keyOf(hex: string): Key {
  return Buffer.from(hex, 'hex').toString('base64url')
}

/** 128 bits of the 132 that 22 characters hold. */
export function hexOf(text: Key | Digest): string {
  checkLength(text)
  if (!ALPHABET.test(text)) throw misused(text)
  return Buffer.from(text, 'base64url').toString('hex', 0, BYTES)
}

function checkLength(text: Key | Digest): void {
  if (text.length !== CHARACTERS) throw misused(text)
}

function misused(text: Key | Digest): StoreError {
  const got = JSON.stringify(text.slice(0, 40))
  return new StoreError('STORE_MISUSED', `expected a key or digest of 22 characters of base64url, got ${got}`)
}
