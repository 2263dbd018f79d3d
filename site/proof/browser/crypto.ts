// In place of node:crypto: the functions that the core calls.

import { BrowserBuffer } from './buffer.ts'
import { sha256 } from './sha256.ts'

export function hash(algorithm: string, data: string | Uint8Array, encoding: 'base64url' | 'hex'): string {
  if (algorithm !== 'sha256') throw new TypeError(`hash: expected sha256, got ${algorithm}`)
  return BrowserBuffer.from(sha256(typeof data === 'string' ? BrowserBuffer.from(data) : data)).toString(encoding)
}

export function randomFillSync(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return crypto.getRandomValues(bytes)
}

/** A whole number, 0 <= number < most. `most` is a power of two, at most 2 ** 32. */
export function randomInt(most: number): number {
  const [drawn = 0] = crypto.getRandomValues(new Uint32Array(1))
  return drawn % most
}
