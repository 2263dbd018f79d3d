import { StoreError, type ClaimItem, type Digest, type Key } from '../../src/spi.ts'

const CHARACTERS = /^[A-Za-z0-9_-]{22}$/
const BYTES = 16

/** Key and digest of a claim in the form of the tables, in hex. */
export interface StoredItem {
  readonly item: ClaimItem
  readonly key: string
  /** `null` if digests are not compared. */
  readonly fp: string | null
}

export function storedItem(item: ClaimItem): StoredItem {
  return { item, key: hexOf(item.key), fp: storedDigest(item.digest) }
}

export function storedDigest(digest: Digest): string | null {
  return digest === '' ? null : hexOf(digest)
}

/** The first 128 of the 132 bits in 22 characters. */
export function hexOf(text: Key | Digest): string {
  if (CHARACTERS.test(text)) return Buffer.from(text, 'base64url').toString('hex', 0, BYTES)
  const got = JSON.stringify(text.slice(0, 40))
  throw new StoreError('STORE_MISUSED', `expected a key or digest of 22 characters of base64url, got ${got}`)
}

/** Inverse of `hexOf`. Several spellings have the same 128 bits; it returns the canonical one. */
export function keyOf(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url')
}

/** The order in which all transactions take their keys, so that two batches cannot deadlock. */
export function inKeyOrder<T extends { readonly key: string }>(items: readonly T[]): readonly T[] {
  return items.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}
