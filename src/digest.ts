import { hash } from 'node:crypto'
import { keyMaterial } from './core/key.ts'
import type { Digest, Key } from './core/record.ts'

/** Characters of base64url that hold 128 bits and a little more: what a key or a digest keeps (decision 0002). */
const KEPT = 22

const NO_BYTES = new Uint8Array(0)

export interface Identity {
  /** Full SHA-256, 43 characters of base64url: fits the strictest alphabet of a provider. */
  readonly idempotencyKey: string
  readonly key: Key
}

export function identityOf(scope: readonly Uint8Array[], id: Uint8Array): Identity {
  const idempotencyKey = hash('sha256', keyMaterial(scope, id), 'base64url')
  return { idempotencyKey, key: idempotencyKey.slice(0, KEPT) }
}

/** A tombstone has the digest of zero bytes. */
export function digestOf(value: Uint8Array | null): Digest {
  return hash('sha256', value ?? NO_BYTES, 'base64url').slice(0, KEPT)
}
