/** Longest message ID, in bytes. Longer ones are not usable: they are payloads in disguise. */
export const MAX_ID_BYTES = 512

/** Part of every key: a change of the material below is a change of every key in every store. */
const KEY_FORMAT = 1

/** What a length takes before its part. */
const LENGTH_BYTES = 4

/**
 * What is digested into a key: a format byte, then each part behind its length (four bytes, big endian), so that
 * `('a:b', 'c')` and `('a', 'b:c')` never meet. `scope` is consumer group or queue, origin topic, consumer name.
 */
export function keyMaterial(scope: readonly Uint8Array[], id: Uint8Array): Uint8Array {
  return scopeMaterial([...scope, id], 0).material
}

/** The beginning of what is digested into each key of a scope, with room behind it for the ID and its length. */
export function scopeMaterial(
  scope: readonly Uint8Array[],
  room: number = LENGTH_BYTES + MAX_ID_BYTES,
): { readonly material: Uint8Array; readonly idAt: number } {
  const used = scope.reduce((bytes, part) => bytes + LENGTH_BYTES + part.length, 1)
  const material = new Uint8Array(used + room)
  material[0] = KEY_FORMAT
  let at = 1
  for (const part of scope) {
    writeLength(material, at, part.length)
    material.set(part, at + LENGTH_BYTES)
    at += LENGTH_BYTES + part.length
  }
  return { material, idAt: at + LENGTH_BYTES }
}

/** Of the part that begins at `partAt`. */
export function writeLengthBefore(material: Uint8Array, partAt: number, length: number): void {
  writeLength(material, partAt - LENGTH_BYTES, length)
}

function writeLength(material: Uint8Array, at: number, length: number): void {
  material[at] = length >>> 24
  material[at + 1] = length >>> 16
  material[at + 2] = length >>> 8
  material[at + 3] = length
}
