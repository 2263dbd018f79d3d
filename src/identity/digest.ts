import { hash } from 'node:crypto'
import { scopeMaterial, writeLengthBefore } from '../core/key.ts'
import type { Digest, Key } from '../core/record.ts'
import { isSequenceKey, readNumberedId, sequenceKey } from './sequence-key.ts'

/**
 * Whole base64url characters in the 128 bits that a key or a digest keeps (decision 0002). Two bits are left for one
 * more character.
 */
const WHOLE = 21

/**
 * Maps a character code to the character that keeps its first two bits and has zeros in the other four. So text and 16
 * bytes convert into each other in exactly one way.
 */
const LAST: readonly string[] = lastCharacters()

const NO_BYTES = new Uint8Array(0)

export interface Identity {
  /** Full SHA-256, 43 characters of base64url: valid in the strictest alphabet of a provider. */
  readonly idempotencyKey: string
  readonly key: Key
}

/** Makes the idempotency keys of one scope. It writes each ID into the same buffer, over the previous one. */
export class ScopeIdentity {
  readonly #material: Buffer
  readonly #idAt: number
  /**
   * The buffer up to the end of the last ID. Most IDs have the length of the one before, and making this view costs
   * half as much as a digest.
   */
  #whole: Buffer

  constructor(scope: readonly Uint8Array[]) {
    const { material, idAt } = scopeMaterial(scope)
    this.#material = Buffer.from(material.buffer, material.byteOffset, material.byteLength)
    this.#whole = this.#material
    this.#idAt = idAt
  }

  /** The idempotency key. `id` must be usable, so that it fits the buffer. */
  // mutant: key-from-decoded-text
  of(id: string | Uint8Array): string {
    const length = typeof id === 'string' ? this.#material.write(id, this.#idAt) : id.length
    if (typeof id !== 'string') this.#material.set(id, this.#idAt)
    writeLengthBefore(this.#material, this.#idAt, length)
    const end = this.#idAt + length
    if (this.#whole.length !== end) this.#whole = this.#material.subarray(0, end)
    return hash('sha256', this.#whole, 'base64url')
  }
}

/**
 * The idempotency key of an ID for a store that keeps sequences: its key as a whole. `undefined`: the ID is none of
 * `messageId.sourceSequence()`.
 */
export function numberedKey(identityOfScope: ScopeIdentity, id: string | Uint8Array): string | undefined {
  const numbered = readNumberedId(id)
  return numbered && sequenceKey(identityOfScope.of(numbered.source), numbered.number)
}

export function identityOf(scope: readonly Uint8Array[], id: Uint8Array): Identity {
  const idempotencyKey = new ScopeIdentity(scope).of(id)
  return { idempotencyKey, key: shortened(idempotencyKey) }
}

/** Full SHA-256 of the payload. A tombstone has the hash of zero bytes. */
export function payloadHashOf(value: Uint8Array | null): string {
  return hash('sha256', value ?? NO_BYTES, 'base64url')
}

export function digestOf(value: Uint8Array | null): Digest {
  return shortened(payloadHashOf(value))
}

/**
 * The key of an idempotency key, or the digest of a payload hash. The empty string and the key of a sequence stay as
 * they are.
 */
export function shortened(hashed: string): string {
  if (isSequenceKey(hashed)) return hashed
  return hashed === '' ? '' : hashed.slice(0, WHOLE) + LAST[hashed.charCodeAt(WHOLE)]
}

function lastCharacters(): string[] {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last: string[] = Array.from({ length: 128 }, () => '')
  for (let bits = 0; bits < alphabet.length; bits++) last[alphabet.charCodeAt(bits)] = alphabet.charAt(bits & 0b110000)
  return last
}
