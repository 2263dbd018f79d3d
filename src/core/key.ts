/** Longest message ID, in bytes. A longer one is not usable: it is probably a payload. */
export const MAX_ID_BYTES = 512

/** Part of every key. A change of the material below changes every key in every store: then increment it. */
const KEY_FORMAT = 1

/** Bytes of the length prefix. */
const LENGTH_BYTES = 4

/**
 * The bytes that are hashed into a key: a format byte, then each part after its length (four bytes, big endian), so
 * that `('a:b', 'c')` and `('a', 'b:c')` have different keys. `scope` is consumer group or queue, origin topic,
 * consumer name.
 */
export function keyMaterial(scope: readonly Uint8Array[], id: Uint8Array): Uint8Array {
  return scopeMaterial([...scope, id], 0).material
}

/** The first bytes of the key material of a scope, with room for the ID and its length. */
export function scopeMaterial(
  scope: readonly Uint8Array[],
  room: number = LENGTH_BYTES + MAX_ID_BYTES,
): { readonly material: Uint8Array; readonly idAt: number } {
  const used = scope.reduce((bytes, part) => bytes + LENGTH_BYTES + part.length, 1)
  const material = new Uint8Array(used + room)
  material[0] = KEY_FORMAT
  let at = 1
  // mutant: scope-left-out
  for (const part of scope) {
    writeLength(material, at, part.length)
    material.set(part, at + LENGTH_BYTES)
    at += LENGTH_BYTES + part.length
  }
  return { material, idAt: at + LENGTH_BYTES }
}

/** Writes the length of the part that begins at `partAt`. */
export function writeLengthBefore(material: Uint8Array, partAt: number, length: number): void {
  writeLength(material, partAt - LENGTH_BYTES, length)
}

function writeLength(material: Uint8Array, at: number, length: number): void {
  material[at] = length >>> 24
  material[at + 1] = length >>> 16
  material[at + 2] = length >>> 8
  material[at + 3] = length
}
