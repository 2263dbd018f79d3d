/**
 * Parsers by type (OID) for the rows of the store. A user may have changed those of the pool, of `pg` or of PGlite.
 * Everything else is read as text.
 */
export const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  20: asText,
  21: Number,
  23: Number,
  25: asText,
  701: Number,
}

/** The option `types` of a query of `pg`. */
export const TYPES = { getTypeParser: (oid: number): ((text: string) => unknown) => PARSERS[oid] ?? asText }

function asText(text: string): string {
  return text
}
