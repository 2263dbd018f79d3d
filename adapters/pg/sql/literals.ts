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
  return `= any (array(select ${keyAt(keys)} from ${places(keys)}))`
}

const KEY_BYTES = 16

/** One after the other in one literal: to read hundreds takes a server longer than to cut them out of one. */
export function keyAt(keys: readonly string[]): string {
  return `substr(${bytes(keys.join(''))}, place * ${KEY_BYTES} + 1, ${KEY_BYTES})`
}

/** What follows `from`, for `keyAt`. */
export function places({ length }: readonly unknown[]): string {
  return `generate_series(0, ${length - 1}) as place`
}

/** Milliseconds since 1970; null where the column is. */
export function epochMs(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::float8`
}
