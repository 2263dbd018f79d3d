/** A value that can be the ID of a message: text, bytes, or a whole number without lost digits, which counts as its text. */
export const USABLE_AS_ID = 'text, bytes or a whole number up to 2^53 - 1'

/**
 * The ID that a value of a header, property or payload stands for; `undefined`: none. `42` and `"42"` are one ID, so that
 * it does not depend on how a producer types it.
 */
export function idIn(value: unknown): string | Uint8Array | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? value : undefined
}

/**
 * The same for a value that a client decoded. amqplib turns every invalid byte of text into U+FFFD, so two different IDs
 * could become equal.
 */
export function decodedIdIn(value: unknown): string | Uint8Array | undefined {
  return typeof value === 'string' && value.includes('\uFFFD') ? undefined : idIn(value)
}

/** For people: what there is instead of an ID. It quotes nothing: what should be an ID may be personal. */
export function foundInsteadOfId(value: unknown): string {
  switch (typeof value) {
    case 'undefined':
      return 'nothing'
    case 'string':
      return textInstead(value)
    case 'number':
      return numberInstead(value)
    case 'object':
      return objectInstead(value)
    case 'boolean':
    case 'bigint':
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
  }
}

function textInstead(text: string): string {
  if (text === '') return 'empty text'
  return text.includes('\uFFFD') ? 'text that was not UTF-8' : 'text'
}

function numberInstead(value: number): string {
  if (Number.isSafeInteger(value)) return 'a whole number'
  return Number.isInteger(value) ? 'a number that may have lost digits' : 'a number with a fraction'
}

function objectInstead(value: object | null): string {
  if (value === null) return 'null'
  if (value instanceof Uint8Array) return value.length === 0 ? 'no bytes' : 'bytes'
  if (Array.isArray(value)) return 'an array'
  // amqplib decodes some types of a header as `{ '!': 'timestamp', value }`.
  const type: unknown = Object.hasOwn(value, '!') ? (value as { readonly '!': unknown })['!'] : undefined
  if (type === 'timestamp' || type === 'decimal') return `a ${type}`
  return typeof (value as { readonly then?: unknown }).then === 'function' ? 'a promise' : 'an object'
}

/** What to do with an ID extractor that returns a promise. */
export const ID_AT_ONCE =
  'return the ID itself. What has to be awaited belongs into decode, and the extractor reads its payload'
