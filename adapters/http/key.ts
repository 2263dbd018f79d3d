/** Stripe's limit. */
const LONGEST_KEY = 255
/** A string of RFC 8941, as the IETF draft has it: printable ASCII in quotes. */
const QUOTED = /^"((?:[\u0020-\u0021\u0023-\u005b\u005d-\u007e]|\\["\\])*)"$/
/** As most APIs have it. A repeated header is joined by a comma, and two keys are none. */
const BARE = /^[\u0021\u0023-\u002b\u002d-\u003a\u003c-\u007e]+$/

/**
 * The key of an `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header): a quoted string, or the same text
 * without quotes. `undefined`: the value is none, or longer than 255 characters.
 */
export function keyIn(header: string): string | undefined {
  const value = header.trim()
  const quoted = QUOTED.exec(value)?.[1]?.replaceAll(/\\(["\\])/g, '$1')
  const key = quoted ?? (BARE.test(value) ? value : '')
  return key.trim() === '' || key.length > LONGEST_KEY ? undefined : key
}
