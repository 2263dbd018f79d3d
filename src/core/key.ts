/** Longest message ID, in bytes. Longer ones are not usable: they are payloads in disguise. */
export const MAX_ID_BYTES = 512

/** Part of every key: a change of the material below is a change of every key in every store. */
const KEY_FORMAT = 1

/**
 * What is digested into a key: a format byte, then each part behind its length (four bytes, big endian), so that
 * `('a:b', 'c')` and `('a', 'b:c')` never meet. `scope` is consumer group or queue, origin topic, consumer name.
 */
export function keyMaterial(scope: readonly Uint8Array[], id: Uint8Array): Uint8Array {
  const parts = [...scope, id]
  const material = new Uint8Array(parts.reduce((bytes, part) => bytes + 4 + part.length, 1))
  material[0] = KEY_FORMAT
  let at = 1
  for (const part of parts) {
    material[at] = part.length >>> 24
    material[at + 1] = part.length >>> 16
    material[at + 2] = part.length >>> 8
    material[at + 3] = part.length
    material.set(part, at + 4)
    at += 4 + part.length
  }
  return material
}
