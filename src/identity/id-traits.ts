import type { DurationMs } from '../core/units.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'

/** What the library knows about an extractor that it made. */
export interface IdTraits {
  /** Detail of the dead letter when the extractor finds no ID. */
  readonly missing?: string
  /** The ID stands for the payload, so the payload is not compared again. */
  readonly isFingerprint?: true
  /** Messages further apart than this have different IDs. */
  readonly windowMs?: DurationMs
}

const traits = new WeakMap<object, IdTraits>()

export function withTraits<Extractor extends IdExtractor<never>>(extractor: Extractor, known: IdTraits): Extractor {
  traits.set(extractor, known)
  return extractor
}

export function traitsOf(extractor: IdExtractor<never>): IdTraits {
  return traits.get(extractor) ?? {}
}
