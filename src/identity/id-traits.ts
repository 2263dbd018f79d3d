import type { DurationMs } from '../core/units.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import type { Message } from '../ports/message.ts'

/** What the library knows about an extractor that it made. */
export interface IdTraits {
  /**
   * Says of a message without a usable ID where it was looked for, what was found, and what to send. Never quotes the
   * message.
   */
  readonly explain?: (message: Explained) => string
  /** The ID stands for the payload, so the payload is not compared again. */
  readonly isFingerprint?: true
  /** Messages further apart than this have different IDs. */
  readonly windowMs?: DurationMs
}

export type Explained = Message & { readonly payload: unknown }

const traits = new WeakMap<object, IdTraits>()

export function withTraits<Extractor extends IdExtractor<never>>(extractor: Extractor, known: IdTraits): Extractor {
  traits.set(extractor, known)
  return extractor
}

export function traitsOf(extractor: IdExtractor<never>): IdTraits {
  return traits.get(extractor) ?? {}
}
