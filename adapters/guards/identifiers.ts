/** The limit of Postgres, in bytes: it cuts longer names, and two names may become one. MariaDB allows 64 letters. */
const LONGEST_NAME = 63

/** A table as its parts, of which the first may be a schema. */
export type Table = readonly string[]

/** `undefined` if the text is no `table` or `schema.table`. */
export function tableOf(text: unknown): Table | undefined {
  const parts = typeof text === 'string' ? text.split('.') : []
  return parts.length <= 2 && parts.length > 0 && parts.every(isName) ? parts : undefined
}

export function isName(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && Buffer.byteLength(text) <= LONGEST_NAME && !/\p{Cc}/u.test(text)
}

/** Quoted for Postgres. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Quoted for MariaDB and MySQL, whatever `ANSI_QUOTES` says. */
export function backticked(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
