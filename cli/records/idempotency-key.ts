import { shortened } from '../../src/identity/digest.ts'
import type { Key } from '../../src/index.ts'

/** `ctx.idempotencyKey`, or the ID of what its handler has published: with the number of the call behind it. */
const IDEMPOTENCY_KEY = /^([\w-]{43})(?:-\d+)?$/

/** The key of the record whose idempotency key it is. `undefined` for other text. */
export function keyIn(text: string): Key | undefined {
  const [, idempotencyKey] = IDEMPOTENCY_KEY.exec(text) ?? []
  return idempotencyKey && shortened(idempotencyKey)
}
