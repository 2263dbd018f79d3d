/** Bytes in hex. With `E` a backslash works whatever `standard_conforming_strings` says. */
export function bytes(hex: string): string {
  return `E'\\\\x${hex}'::bytea`
}

/** A text literal. A value that would need quoting is written in hex, so the settings of the session do not matter. */
export function text(value: string): string {
  if (/^[\w-]*$/.test(value)) return `'${value}'::text`
  return `convert_from(${bytes(Buffer.from(value).toString('hex'))}, 'UTF8')`
}

/** The part after `where stream`. */
export function isOneOf(values: readonly string[]): string {
  return `in (${values.map(text).join(', ')})`
}

/** The part after `where key`. A single key is planned much faster than an array. */
export function isAmong(keys: readonly string[]): string {
  const [first, second] = keys
  if (first !== undefined && second === undefined) return `= ${bytes(first)}`
  return `= any (array(select ${keyAt(keys)} from ${places(keys)}))`
}

/**
 * All keys in one literal: for hundreds of keys it is faster for the server to cut them out of one literal than to
 * parse each.
 */
export function keyAt(keys: readonly string[]): string {
  const width = keys[0]?.length ?? 0
  // People may ask for any.
  if (keys.some(({ length }) => length !== width)) return `(array[${keys.map(bytes).join(', ')}])[place + 1]`
  return `substr(${bytes(keys.join(''))}, place * ${width / 2} + 1, ${width / 2})`
}

/** As `keyAt`, for digests: all present, or some `null`. */
export function fpAt(fps: readonly (string | null)[]): string {
  const given = fps.filter((fp) => fp !== null)
  if (given.length === fps.length) return keyAt(given)
  return `decode(('{${fps.map((fp) => fp ?? 'null').join(',')}}'::text[])[place + 1], 'hex')`
}

/** The part after `from`, for `keyAt`. */
export function places({ length }: readonly unknown[]): string {
  return `generate_series(0, ${length - 1}) as place`
}

/**
 * The rows of some keys, after `from` and before an alias: one lookup in the primary key for each, whatever the planner
 * believes. It has no statistics of a new table, nor of one that is empty whenever it is analyzed. Then it takes a scope
 * for a handful of rows, and reads all of them.
 */
export function rowsByKey(
  table: string,
  { scope, keys, columns }: { readonly scope: number; readonly keys: readonly string[]; readonly columns: string },
): string {
  const [first, second] = keys
  if (first !== undefined && second === undefined) {
    return `(select ${columns} from ${table} where scope = ${scope} and key = ${bytes(first)})`
  }
  return `${places(keys)} cross join lateral (
  select ${columns} from ${table} where scope = ${scope} and key = ${keyAt(keys)} offset 0)`
}

/**
 * The part after `where`, for an UPDATE or DELETE of a table without partitions: see `rowsByKey`. A row that another
 * transaction changes between the snapshot of the statement and its lock is left out, so it is for rows that nobody else
 * changes meanwhile: attempts of the caller's own owner token, or of keys whose inbox rows its transaction holds.
 */
export function areRowsOf(table: string, scope: number, keys: readonly string[]): string {
  const [first, second] = keys
  if (first !== undefined && second === undefined) return `scope = ${scope} and key = ${bytes(first)}`
  return `ctid = any (array(select r.ctid from ${rowsByKey(table, { scope, keys, columns: 'ctid' })} r))`
}

/** Milliseconds since 1970; null if the column is null. */
export function epochMs(column: string): string {
  return `floor(extract(epoch from ${column}) * 1000)::float8`
}

/** Longer retentions end with a century: the range of a timestamp has an end. */
const CENTURY_MS = 100 * 365 * 86_400_000

/** `ms`: a number, or an expression of one. */
export function fromNow(ms: number | string): string {
  return `now() + least(${ms}, ${CENTURY_MS})::float8 * interval '1 millisecond'`
}
