import { pointerPath, valueAt } from '../core/json-pointer.ts'
import { whyUnusable, WHY_UNUSABLE } from '../core/message-id.ts'
import { withTraits } from './id-traits.ts'
import { foundInsteadOfId, idIn } from './id-value.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import { listOf, refuse, where, type Rule } from '../foundation/options.ts'
import { shown } from '../foundation/shown.ts'

/** The ID from these places of the decoded payload. */
export function payloadId(...pointers: readonly string[]): IdExtractor {
  const problems: string[] = []
  POINTERS.read(pointers, { name: 'pointers', problems })
  refuse('messageId.payload', problems)
  const paths = pointers.map(pathOf)
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
    {
      explain: ({ payload }) => {
        const at = paths.findIndex((path) => isMissing(valueAt(payload, path)))
        return `${pointers[at] ?? pointers.join(' and ')} of the payload holds ${foundInsteadOfId(valueAt(payload, paths[at] ?? []))}`
      },
    },
  )
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** One of these is a path into a JSON payload. */
const POINTER: Rule<string> = where(
  'a JSON Pointer (RFC 6901) such as "/order/id"',
  (pointer) => typeof pointer === 'string' && pointerPath(pointer) !== undefined,
  {
    got: (pointer) => {
      const isPath = typeof pointer === 'string' && !pointer.startsWith('/') && pointerPath(`/${pointer}`) !== undefined
      return `${shown(pointer)}${isPath ? `: did you mean ${shown(`/${pointer}`)}?` : ''}`
    },
  },
)

/** The pointer was checked before. */
export function pathOf(pointer: string): readonly string[] {
  return pointerPath(pointer) ?? []
}

export const POINTERS: Rule<readonly string[]> = listOf(POINTER, {
  least: 1,
  what: 'JSON Pointers such as "/order/id"',
})

/** @throws TypeError for a value that is no usable part of an ID; `undefined`: there is none */
function scalarText(value: unknown, pointer: string): string | undefined {
  const text = textOf(value, pointer)
  const unusable = whyUnusable(text)
  if (unusable === 'missing') return undefined
  if (unusable !== undefined) throw new TypeError(`${pointer}: ${WHY_UNUSABLE[unusable]}`)
  return text
}

function textOf(value: unknown, pointer: string): string | undefined {
  if (isMissing(value)) return undefined
  // As a part of an ID, such as `/isRefund`.
  if (typeof value === 'boolean') return String(value)
  const text = value instanceof Uint8Array ? undefined : idIn(value)
  if (typeof text === 'string') return text
  throw new TypeError(
    `${pointer}: expected text, a whole number up to 2^53 - 1 or a boolean, got ${foundInsteadOfId(value)}${typeof value === 'number' ? ': send it as text' : ''}`,
  )
}
