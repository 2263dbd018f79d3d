import { shortened } from '../identity/digest.ts'
import { readSequenceKey, SEQUENCE_KEY_LENGTH } from '../identity/sequence-key.ts'
import type { Key } from '../core/record.ts'
import type { Store } from '../ports/store.ts'

/** Characters of a key, as logs and lists show it. */
export const KEY_LENGTH = 22

/** What the keys of a store are made of. `undefined`: of a store that is not known, or that has keys of message IDs. */
export type KeysOf = Store['keys']

/** Characters of a key of such a store. */
export function keyLength(keys: KeysOf): number {
  return keys === 'sequences' ? SEQUENCE_KEY_LENGTH : KEY_LENGTH
}

const KEY = new RegExp(`^[\\w-]{${KEY_LENGTH}}$`)

/** `ctx.idempotencyKey`, also with what a handler put behind it, as `-charge`, or an outbox, the number of the call. */
const IDEMPOTENCY_KEY = /^([\w-]{43})(?:[^A-Za-z0-9].*)?$/s

/** A store of sequences has the key itself as the idempotency key. */
const OF_SEQUENCES = new RegExp(`^([\\w-]{${SEQUENCE_KEY_LENGTH}})(?:[^A-Za-z0-9].*)?$`, 's')

/**
 * The key that a text is, or that an idempotency key belongs to. `undefined` for other text, such as most message IDs.
 *
 * @param keys - of the store that is asked. `undefined`: either
 */
export function keyIn(text: string, keys?: KeysOf): Key | undefined {
  return keys !== 'sequences' && KEY.test(text) ? text : keyOfProvider(text, keys)
}

/** The key of the record whose idempotency key it is. `undefined` for other text. */
export function keyOfProvider(text: string, keys?: KeysOf): Key | undefined {
  const idempotencyKey = idempotencyKeyIn(text, keys)
  return idempotencyKey && shortened(idempotencyKey)
}

/** Without what stands behind it. */
export function idempotencyKeyIn(text: string, keys?: KeysOf): string | undefined {
  const ofIds = keys === 'sequences' ? undefined : IDEMPOTENCY_KEY.exec(text)?.[1]
  return ofIds ?? (keys === 'ids' ? undefined : numberedKeyIn(text))
}

function numberedKeyIn(text: string): string | undefined {
  const key = OF_SEQUENCES.exec(text)?.[1]
  return key !== undefined && readSequenceKey(key) !== undefined ? key : undefined
}
