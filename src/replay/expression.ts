import { pointerPath, valueAt } from '../core/json-pointer.ts'
import type { Message } from '../ports/message.ts'

/**
 * A place in a message, as [AsyncAPI runtime expressions](https://www.asyncapi.com/docs/reference/specification/v3.0.0#runtimeExpression) name it:
 * `$message.payload#/to`, `$message.header#/tenant` with a JSON Pointer (RFC 6901), and `$message.key`. `/to` alone is a field of the
 * payload.
 */
export interface Field {
  readonly text: string
  /** `undefined`: the message has no such field. */
  read(message: Message, payload: () => unknown): string | undefined
}

/** @returns a problem, as text, if the expression is not one */
export function parseField(given: string): Field | string {
  const text = given.startsWith('/') ? `$message.payload#${given}` : given
  if (text === '$message.key') return { text, read: ({ key }) => shownValue(key) }
  const parts = /^\$message\.(payload|header)#((?:\/(?:[^~]|~[01])*)*)$/s.exec(text)
  if (parts === null) {
    return `expected $message.payload#/pointer, $message.header#/name or $message.key, got ${JSON.stringify(text)}`
  }
  const [, place, pointer = ''] = parts
  const path = pointerPath(pointer) ?? []
  if (place === 'header' && path.length !== 1) return `expected one header name after #/, got ${JSON.stringify(text)}`
  return {
    text,
    read: ({ headers }, payload) => shownValue(valueAt(place === 'header' ? headers : payload(), path)),
  }
}

export interface Condition {
  readonly text: string
  /** What it compares, without the value. */
  readonly field: string
  /** `undefined`: the message has no such field. */
  holds(message: Message, payload: () => unknown): boolean | undefined
}

const OPERATORS: Readonly<Record<string, (found: string, wanted: string) => boolean>> = {
  '!=': (found, wanted) => found !== wanted,
  '^=': (found, wanted) => found.startsWith(wanted),
  '*=': (found, wanted) => found.includes(wanted),
  '|=': (found, wanted) => wanted.split(',').includes(found),
  '=': (found, wanted) => found === wanted,
}

/**
 * `field=value`, `!=`, `^=` (begins with), `*=` (contains), `|=` (is one of those between commas). None of them is true or false of a field that is missing.
 *
 * @returns a problem, as text, if the condition is not one
 */
export function parseCondition(text: string): Condition | string {
  // Lazy: the first operator ends the field, and a value may contain more of them.
  const parts = /^(.+?)(!=|\^=|\*=|\|=|=)(.*)$/s.exec(text)
  if (parts === null) return `expected <field>=<value>, with = != ^= *= or |=, got ${JSON.stringify(text)}`
  const [, name = '', operator = '', wanted = ''] = parts
  const field = parseField(name)
  if (typeof field === 'string') return field
  const compare = OPERATORS[operator]
  const holds: Condition['holds'] = (message, payload) => {
    const found = field.read(message, payload)
    return found === undefined ? undefined : compare?.(found, wanted)
  }
  return { text, field: field.text, holds }
}

function shownValue(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  return typeof value === 'object' ? JSON.stringify(value) : `${value as number | boolean | bigint}`
}
