import { pointerPath, valueAt } from '../core/json-pointer.ts'
import type { Message } from '../ports/message.ts'

/**
 * A place in a message, as [AsyncAPI runtime expressions](https://www.asyncapi.com/docs/reference/specification/v3.0.0#runtimeExpression) name it:
 * `$message.payload#/to`, `$message.header#/tenant` with a JSON Pointer (RFC 6901), and `$message.key`.
 */
export interface Field {
  readonly text: string
  /** `undefined`: the message has no such field. */
  read(message: Message, payload: () => unknown): string | undefined
}

/** @returns a problem, as text, if the expression is not one */
export function parseField(text: string): Field | string {
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
  holds(message: Message, payload: () => unknown): boolean
}

const OPERATORS: Readonly<Record<string, (found: string | undefined, wanted: string) => boolean>> = {
  '!=': (found, wanted) => found !== wanted,
  '^=': (found, wanted) => found?.startsWith(wanted) ?? false,
  '*=': (found, wanted) => found?.includes(wanted) ?? false,
  '=': (found, wanted) => found === wanted,
}

/**
 * `field=value`, `!=`, `^=` (begins with), `*=` (contains). A field that is missing differs from every value.
 *
 * @returns a problem, as text, if the condition is not one
 */
export function parseCondition(text: string): Condition | string {
  // Lazy: the first operator ends the field, and a value may contain more of them.
  const parts = /^(.+?)(!=|\^=|\*=|=)(.*)$/s.exec(text)
  if (parts === null) return `expected <field>=<value>, with = != ^= or *=, got ${JSON.stringify(text)}`
  const [, name = '', operator = '', wanted = ''] = parts
  const field = parseField(name)
  if (typeof field === 'string') return field
  const compare = OPERATORS[operator]
  return { text, holds: (message, payload) => compare?.(field.read(message, payload), wanted) ?? false }
}

function shownValue(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  return typeof value === 'object' ? JSON.stringify(value) : `${value as number | boolean | bigint}`
}
