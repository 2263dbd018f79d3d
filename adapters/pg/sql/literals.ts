/** Bytes in hex. With `E` a backslash is one whatever `standard_conforming_strings` says. */
export function bytes(hex: string): string {
  return `E'\\\\x${hex}'::bytea`
}

/** Nothing that would need quoting is ever written into a statement, whatever the session's settings. */
export function text(value: string): string {
  if (/^[\w-]*$/.test(value)) return `'${value}'::text`
  return `convert_from(${bytes(Buffer.from(value).toString('hex'))}, 'UTF8')`
}

/** What follows `where stream`. */
export function isOneOf(values: readonly string[]): string {
  return `in (${values.map(text).join(', ')})`
}

/** What follows `where key`. A list of one is planned much faster than an array. */
export function isAmong(keys: readonly string[]): string {
  const [first, second] = keys
  if (first !== undefined && second === undefined) return `= ${bytes(first)}`
  return `= any (array(select decode(x, 'hex') from unnest('{${keys.join(',')}}'::text[]) as x))`
}
