/** Bytes in hex, which is all that is ever written into a statement: it needs no quoting, whatever the session's `sql_mode`. */
export function bytes(hex: string | null): string {
  return hex === null ? 'null' : `x'${hex}'`
}

/** Whatever the character set of the connection. */
export function text(value: string | null | undefined): string {
  return value == null ? 'null' : `convert(x'${Buffer.from(value).toString('hex')}' using utf8mb4)`
}

/** Text that is compared by its bytes: owner tokens. */
export function ascii(value: string): string {
  return bytes(Buffer.from(value).toString('hex'))
}

/** What follows `where`. */
export function hasKey(scope: number, keys: readonly string[]): string {
  return `scope = ${scope} and \`key\` in (${keys.map(bytes).join(', ')})`
}

/** A column of bytes or text, to be read with `fromHex`: whatever the character set of the connection. */
export function inHex(column: string): string {
  return `lower(hex(${column}))`
}

export function fromHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString()
}
