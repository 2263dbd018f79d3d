import type { Message } from '../../../src/internal.ts'

export type HeaderValue = Buffer | string | null

export type ProducedHeaders = Record<string, Buffer | string | (Buffer | string)[]>

export type HeaderEntry = readonly [name: string, value: ProducedHeaders[string]]

/** A field that the port does not have. */
export interface KafkaMessage extends Message {
  readonly isAppendTimed: boolean
}

export function isAppendTimed(message: Message): boolean {
  return (message as Partial<KafkaMessage>).isAppendTimed === true
}

/**
 * The headers of a message that kafkajs fetched. It collects them in a plain object, so that one named like an inherited
 * property (`constructor`, `__proto__`) becomes an array that starts with the inherited value: corrected in a copy.
 */
export function headersOf(raw: { readonly [name: string]: unknown } | undefined): Message['headers'] {
  if (raw === undefined) return NONE
  if (!hasInherited(raw)) return raw
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const name of Object.keys(raw)) {
    const values = headerValues(raw, name)
    copy[name] = values.length === 1 ? values[0] : values
  }
  return copy
}

/** Asked for each message: an array of the names would take longer than the look. */
function hasInherited(raw: { readonly [name: string]: unknown }): boolean {
  for (const name in raw) if (name in Object.prototype) return true
  return false
}

/** All values of a header, in order, without values that a broker cannot have sent. */
export function headerValues(headers: Message['headers'], name: string): readonly HeaderValue[] {
  if (!Object.hasOwn(headers, name)) return []
  const value = headers[name]
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isHeaderValue)
}

const NONE: Message['headers'] = Object.freeze({})

function isHeaderValue(value: unknown): value is HeaderValue {
  return value === null || typeof value === 'string' || Buffer.isBuffer(value)
}
