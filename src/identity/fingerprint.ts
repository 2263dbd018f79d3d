import { hash } from 'node:crypto'
import { canonicalText, pathsOf, type Parts } from '../core/canonical-json.ts'
import { parseJsonTree } from '../core/json-tree.ts'
import { keyMaterial } from '../core/key.ts'
import { idBytes, WHY_UNUSABLE } from '../core/message-id.ts'
import { atOnce } from '../foundation/at-once.ts'
import { withTraits } from './id-traits.ts'
import { ID_AT_ONCE, idIn } from './id-value.ts'
import type { IdExtractor, IncomingMessage } from '../ports/id-extractor.ts'
import { either, func, listOf, optionsOf, or, whole, type Table } from '../foundation/options.ts'
import { pathOf, POINTERS } from './payload-id.ts'

export interface FingerprintOptions {
  /**
   * JSON Pointers (RFC 6901) to the parts of the payload that count; `*` stands for any member or element. A message
   * that lacks one of them has no usable ID.
   * @defaultValue the whole payload
   */
  readonly include?: readonly string[]
  /**
   * JSON Pointers to parts that differ in a re-send, such as `/sentAt` or `/geo/*`. They do not count.
   * @defaultValue none
   */
  readonly omit?: readonly string[]
  /**
   * What belongs to the identity beside the payload, such as `messageId.header('tenant')`. A message that lacks one of
   * them has no usable ID.
   * @defaultValue none
   */
  readonly scope?: IdExtractor | readonly IdExtractor[]
  /**
   * The largest payload, in bytes. A larger one has no usable ID: the message would hold up all others while it is read.
   * At most 1048576.
   * @defaultValue 65536
   */
  readonly maxBytes?: number
}

const MOST_BYTES = 1024 * 1024

const FINGERPRINT: Table<FingerprintOptions, 'include' | 'omit'> = {
  include: POINTERS,
  omit: POINTERS,
  scope: or([], either(func<IdExtractor>(), listOf(func<IdExtractor>()))),
  maxBytes: or(64 * 1024, whole({ most: MOST_BYTES })),
}

/** The ID from what a message says: SHA-256 of its payload in canonical form. */
export function fingerprint(options: FingerprintOptions = {}): IdExtractor {
  const { include, omit, maxBytes, ...given } = optionsOf('messageId.fingerprint', FINGERPRINT, options)
  const scope = [given.scope].flat() as readonly IdExtractor[]
  const textOf = payloadText({ include, omit }, maxBytes)
  const isFingerprint = true
  return withTraits(
    (message) => {
      const parts = scope.map((extract, at) => scopePart(extract, at, message))
      return hash('sha256', keyMaterial(parts, Buffer.from(textOf(message.value))), 'base64url')
    },
    { isFingerprint },
  )
}

/** Hashes these fields of a payload, to compare it with another under the same ID. A field may be missing. */
export function fieldsHash(pointers: readonly string[]): (value: Uint8Array | null) => string {
  const textOf = payloadText({ include: pointers, isOptional: true }, MOST_BYTES)
  return (value) => hash('sha256', Buffer.from(textOf(value)), 'base64url')
}

interface Selected {
  readonly include?: readonly string[] | undefined
  readonly omit?: readonly string[] | undefined
  /** One of `include` is enough. */
  readonly isOptional?: boolean
}

/** @returns a function that throws, for people and without the payload, why there is no canonical text */
function payloadText(
  { include, omit, isOptional = false }: Selected,
  maxBytes: number,
): (value: Uint8Array | null) => string {
  const parts: Parts = {
    include: include && pathsOf(include.map(pathOf)),
    omit: omit && pathsOf(omit.map(pathOf)),
  }
  const decoder = new TextDecoder('utf-8', { fatal: true })
  return (value) => {
    if (value === null) throw new TypeError('a tombstone has no payload to identify it by')
    if (value.length > maxBytes) {
      throw new RangeError(
        `expected a payload of at most ${maxBytes} bytes to identify it by, got ${value.length}: take an ID of the producer`,
      )
    }
    const found = new Set<number>()
    const text = canonicalText(parseJsonTree(decoder.decode(value)), parts, found)
    const missing = include?.filter((_, index) => !found.has(index)) ?? []
    if (missing.length > 0 && !(isOptional && found.size > 0)) {
      throw new TypeError(`the payload must have ${missing.join(isOptional ? ' or ' : ' and ')}`)
    }
    if (text === undefined || text === '{}' || text === '[]')
      throw new TypeError('nothing in the payload identifies it')
    return text
  }
}

function scopePart(extract: IdExtractor, at: number, message: IncomingMessage<unknown>): Uint8Array {
  const part = idBytes(idIn(atOnce('fingerprint.scope', extract(message), ID_AT_ONCE)))
  if (typeof part === 'string') throw new TypeError(`scope ${at + 1}: ${WHY_UNUSABLE[part]}`)
  return part
}
