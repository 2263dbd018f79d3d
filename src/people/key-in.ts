import { shortened } from '../identity/digest.ts'
import type { Key } from '../core/record.ts'

/** Characters of a key, as logs and lists show it. */
export const KEY_LENGTH = 22

const KEY = new RegExp(`^[\\w-]{${KEY_LENGTH}}$`)

/** `ctx.idempotencyKey`, also with what a handler put behind it, as `-charge`, or an outbox, the number of the call. */
const IDEMPOTENCY_KEY = /^([\w-]{43})(?:[^A-Za-z0-9].*)?$/s

/** The key that a text is, or that an idempotency key belongs to. `undefined` for other text, such as most message IDs. */
export function keyIn(text: string): Key | undefined {
  return KEY.test(text) ? text : keyOfProvider(text)
}

/** The key of the record whose idempotency key it is. `undefined` for other text. */
export function keyOfProvider(text: string): Key | undefined {
  const idempotencyKey = idempotencyKeyIn(text)
  return idempotencyKey && shortened(idempotencyKey)
}

/** Without what stands behind it. */
export function idempotencyKeyIn(text: string): string | undefined {
  return IDEMPOTENCY_KEY.exec(text)?.[1]
}
