import { StoreError, type ClaimItem, type Digest, type Key } from '../../src/index.ts'
import type { StoredKey } from './sql/claim-keys.ts'

const CHARACTERS = /^[A-Za-z0-9_-]{22}$/
const BYTES = 16

/** A claim's key and digest as tables keep them. */
export interface StoredItem extends StoredKey {
  readonly item: ClaimItem
}

export function storedItem(item: ClaimItem): StoredItem {
  return { item, key: hexOf(item.key), fp: item.digest === '' ? null : hexOf(item.digest) }
}

/** What `hexOf` was made of, for real keys: they have 128 bits. */
export function keyOf(hex: string): Key {
  return Buffer.from(hex, 'hex').toString('base64url')
}

/** 128 bits of the 132 that 22 characters hold. */
export function hexOf(text: Key | Digest): string {
  if (CHARACTERS.test(text)) return Buffer.from(text, 'base64url').toString('hex', 0, BYTES)
  const got = JSON.stringify(text.slice(0, 40))
  throw new StoreError('STORE_MISUSED', `expected a key or digest of 22 characters of base64url, got ${got}`)
}
