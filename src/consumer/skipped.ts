import { describeError } from '../foundation/errors.ts'

/** Longer reasons are cut. */
const LONGEST_REASON = 200

/** What `ctx.skip(reason)` returns. A handler that returns it has decided that the message needs no effect. */
export class Skipped {
  readonly #reason: string

  constructor(reason: string) {
    this.#reason = reason
  }

  /** `undefined` for any other value. */
  static reasonOf(value: unknown): string | undefined {
    return typeof value === 'object' && value !== null && #reason in value ? value.#reason : undefined
  }
}

/** @throws TypeError for what is no text, or an empty one */
export function skip(reason: string): Skipped {
  if (typeof reason !== 'string' || reason.trim() === '') {
    throw new TypeError(`ctx.skip: expected a reason, a text that is not empty, got ${typeof reason}`)
  }
  const text = describeError(reason)
  return new Skipped(text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON - 1)}…` : text)
}
