import { pointerPath, valueAt } from '../core/json-pointer.ts'
import { whyUnusable, WHY_UNUSABLE } from '../core/message-id.ts'
import { ConfigError } from '../foundation/errors.ts'
import { withTraits } from './id-traits.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import { shown } from '../foundation/option-checks.ts'

/** The ID from these places of the decoded payload. */
export function payloadId(...pointers: readonly string[]): IdExtractor {
  const paths = checkedPaths('messageId.payload', pointers)
  const missing = `no message ID: the payload must have ${pointers.join(' and ')}`
  return withTraits(
    ({ payload }) => {
      const parts: string[] = []
      for (const [at, path] of paths.entries()) {
        const part = scalarText(valueAt(payload, path), pointers[at] ?? '')
        if (part === undefined) return undefined
        parts.push(part)
      }
      const last = parts.pop() ?? ''
      // Each but the last behind its length in bytes: ("a", "bc") and ("ab", "c") are two IDs.
      return `${parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('')}${last}`
    },
    { missing },
  )
}

/**
 * @param name - of the option, for a problem
 * @throws ConfigError `CONFIG_INVALID` if there are none, or one is no JSON Pointer
 */
export function checkedPaths(name: string, pointers: readonly unknown[]): readonly (readonly string[])[] {
  const problems: string[] = []
  const paths = pointers.map((pointer) => {
    const path = typeof pointer === 'string' ? pointerPath(pointer) : undefined
    if (path === undefined) {
      const advice =
        typeof pointer === 'string' && pointerPath(`/${pointer}`) !== undefined && !pointer.startsWith('/')
          ? `: did you mean ${shown(`/${pointer}`)}?`
          : ''
      problems.push(`${name}: expected a JSON Pointer (RFC 6901) such as "/order/id", got ${shown(pointer)}${advice}`)
    }
    return path ?? []
  })
  if (pointers.length === 0) problems.push(`${name}: expected at least one JSON Pointer such as "/order/id", got none`)
  if (problems.length > 0) throw new ConfigError(problems)
  return paths
}

/** @throws TypeError for a value that is no usable part of an ID; `undefined`: there is none */
function scalarText(value: unknown, pointer: string): string | undefined {
  const text = textOf(value, pointer)
  const unusable = whyUnusable(text)
  if (unusable === 'missing') return undefined
  if (unusable !== undefined) throw new TypeError(`${pointer}: ${WHY_UNUSABLE[unusable]}`)
  return text
}

function textOf(value: unknown, pointer: string): string | undefined {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  if (typeof value === 'bigint' || typeof value === 'boolean' || Number.isSafeInteger(value))
    return `${value as number}`
  const problem =
    typeof value === 'number'
      ? 'a whole number up to 2^53 - 1, got one that may have lost digits: send it as text'
      : `text, a whole number or a boolean, got ${Array.isArray(value) ? 'an array' : 'an object'}`
  throw new TypeError(`${pointer}: expected ${problem}`)
}
