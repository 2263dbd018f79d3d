import { hash } from 'node:crypto'
import { scopeMaterial, writeLengthBefore } from './core/key.ts'
import type { Digest, Key } from './core/record.ts'

/** Whole characters of base64url in the 128 bits that a key or a digest keeps (decision 0002): two bits are left for one more. */
const WHOLE = 21

/**
 * What that one becomes, by its character code: the same two bits, and zeros for the four that are not kept. So the 16 bytes
 * of a store and the text have each only one form of the other.
 */
const LAST: readonly string[] = lastCharacters()

const NO_BYTES = new Uint8Array(0)

export interface Identity {
  /** Full SHA-256, 43 characters of base64url: fits the strictest alphabet of a provider. */
  readonly idempotencyKey: string
  readonly key: Key
}

/** Makes the idempotency keys of one scope. What they are digested from is written to one place, over the last one. */
export class ScopeIdentity {
  readonly #material: Buffer
  readonly #idAt: number
  /** Up to the end of the last ID. Most are as long as the one before, and to make it costs as much as half a digest. */
  #whole: Buffer

  constructor(scope: readonly Uint8Array[]) {
    const { material, idAt } = scopeMaterial(scope)
    this.#material = Buffer.from(material.buffer, material.byteOffset, material.byteLength)
    this.#whole = this.#material
    this.#idAt = idAt
  }

  /** The idempotency key. `id`: usable, so that it fits. */
  of(id: string | Uint8Array): string {
    const length = typeof id === 'string' ? this.#material.write(id, this.#idAt) : id.length
    if (typeof id !== 'string') this.#material.set(id, this.#idAt)
    writeLengthBefore(this.#material, this.#idAt, length)
    const end = this.#idAt + length
    if (this.#whole.length !== end) this.#whole = this.#material.subarray(0, end)
    return hash('sha256', this.#whole, 'base64url')
  }
}

export function identityOf(scope: readonly Uint8Array[], id: Uint8Array): Identity {
  const idempotencyKey = new ScopeIdentity(scope).of(id)
  return { idempotencyKey, key: shortened(idempotencyKey) }
}

/** Full SHA-256 of the payload, as an idempotency key is of the ID. A tombstone has that of zero bytes. */
export function payloadHashOf(value: Uint8Array | null): string {
  return hash('sha256', value ?? NO_BYTES, 'base64url')
}

export function digestOf(value: Uint8Array | null): Digest {
  return shortened(payloadHashOf(value))
}

/** A key out of an idempotency key, a digest out of the hash of a payload. Of none: none. */
export function shortened(hashed: string): string {
  return hashed === '' ? '' : hashed.slice(0, WHOLE) + LAST[hashed.charCodeAt(WHOLE)]
}

function lastCharacters(): string[] {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last: string[] = Array.from({ length: 128 }, () => '')
  for (let bits = 0; bits < alphabet.length; bits++) last[alphabet.charCodeAt(bits)] = alphabet.charAt(bits & 0b110000)
  return last
}
