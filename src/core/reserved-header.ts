const RESERVED_PREFIX = 'consume-once-'

/** True for every name that only the library may write: those of src/copies/vocabulary.ts, and of later versions. */
export function isReservedHeader(name: string): boolean {
  return name.startsWith(RESERVED_PREFIX)
}
