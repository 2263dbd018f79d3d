/** The names and indexes of a JSON Pointer (RFC 6901), from the root; `undefined`: the text is no pointer. */
export function pointerPath(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (!/^\/(?:[^~]|~[01])*$/s.test(pointer)) return undefined
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The value at a path, among own properties only; `undefined`: there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(memberOf, value)
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  // An array has own properties that are no elements, such as `length`.
  if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined
}
