import { PRIMARY, type Keyed, type Tables } from './tables.ts'

/**
 * Bytes in hex. All values in statements are written this way: they need no quoting, whatever the session's `sql_mode`.
 */
export function bytes(hex: string | null): string {
  return hex === null ? 'null' : `x'${hex}'`
}

/** A text literal that does not depend on the character set of the connection. */
export function text(value: string | null | undefined): string {
  return value == null ? 'null' : `convert(x'${Buffer.from(value).toString('hex')}' using utf8mb4)`
}

/** Text that is compared as bytes: owner tokens. */
export function ascii(value: string): string {
  return bytes(Buffer.from(value).toString('hex'))
}

/** The part after `where`. */
export function hasKey(scope: number, keys: readonly string[]): string {
  return `scope = ${scope} and \`key\` in (${keys.map(bytes).join(', ')})`
}

/** The hint behind a table whose rows are locked by key. */
export function byKey({ indexes }: Tables, table: Keyed): string {
  return `force index (${indexes[table]})`
}

/**
 * Deletes these keys, and locks no other row. In a small table the servers otherwise choose to read all of it, wait for
 * rows of other transactions, and deadlock. Only the form for several tables takes a hint of an index, and only where a
 * column outside of the index is read do they not go through the whole scope instead. In `where` the table is `gone`.
 */
export function deleteKeys(
  tables: Tables,
  from: Keyed,
  scope: number,
  keys: readonly string[],
  where: string = '',
): string {
  const also = where === '' ? '' : ` and ${where}`
  return `delete gone from ${tables[from]} as gone ${byKey(tables, from)} where ${hasKey(scope, keys)} and owner >= ''${also}`
}

/** Deletes rows of a table by its primary key `id`, and locks no other row (`deleteKeys`). `attempts` is outside of it. */
export function deleteIds(table: string, ids: readonly string[]): string {
  return `delete gone from ${table} as gone force index (${PRIMARY}) where gone.id in (${ids.join(', ')}) and gone.attempts >= 0`
}

/** Updates rows of a table by its primary key `id`, and locks no other row (`deleteKeys`). */
export function updateIds(table: string, set: string, ids: readonly string[]): string {
  return `update ${table} force index (${PRIMARY}) set ${set} where id in (${ids.join(', ')})`
}

/** Updates these keys, and locks no other row (`deleteKeys`). */
export function updateKeys(
  tables: Tables,
  of: Keyed,
  set: string,
  scope: number,
  keys: readonly string[],
  where: string = '',
): string {
  const also = where === '' ? '' : ` and ${where}`
  return `update ${tables[of]} ${byKey(tables, of)} set ${set} where ${hasKey(scope, keys)}${also}`
}

/** A column of bytes or text, to be read with `fromHex`. It does not depend on the character set of the connection. */
export function inHex(column: string): string {
  return `lower(hex(${column}))`
}

export function fromHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString()
}

/** A time in UTC, in milliseconds since 1970, whatever the time zone of the session. */
export function epochMs(column: string): string {
  return `timestampdiff(microsecond, '1970-01-01', ${column}) div 1000`
}

/** As `epochMs`, rounded up. */
export function epochMsAtLeast(column: string): string {
  return `(timestampdiff(microsecond, '1970-01-01', ${column}) + 999) div 1000`
}

export function time(ms: number | null): string {
  return ms === null ? 'null' : `date_add('1970-01-01', interval ${Math.round(ms * 1_000)} microsecond)`
}

/** The server's clock, the only clock that measures leases. Fixed at the start of its statement. */
export const NOW_MS: string = epochMs('utc_timestamp(6)')

/** Longer retentions end with a century: the year 10000 does not exist. */
const CENTURY_MS = 100 * 365 * 86_400_000

export function fromNow(ms: number): string {
  return `date_add(utc_timestamp(6), interval ${Math.round(Math.min(ms, CENTURY_MS) * 1_000)} microsecond)`
}
