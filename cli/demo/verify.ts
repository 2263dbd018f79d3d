import type { Effect } from './effects.ts'
import type { InputMessage } from './envelope.ts'
import type { DeadLetterRow } from './sources/demo-source.ts'

export interface Verified {
  /** Pairs of usable ID and payload digest with neither an effect nor a dead letter. */
  readonly lost: number
  /** IDs with more than one effect. */
  readonly doubleEffects: number
}

/** Holds effects and dead letters against the input: the truth of the demo, apart from every counter in the pipeline. */
export function verify(
  messages: readonly InputMessage[],
  effects: readonly Effect[],
  deadLetters: readonly DeadLetterRow[],
): Verified {
  const accounted = new Set<string>()
  const effectsOf = new Map<string, number>()
  for (const { id, payload_sha256 } of effects) {
    accounted.add(pair(id, payload_sha256))
    effectsOf.set(id, (effectsOf.get(id) ?? 0) + 1)
  }
  for (const { id, payload_sha256 } of deadLetters) {
    if (id !== null) accounted.add(pair(id, payload_sha256))
  }
  const expected = new Set<string>()
  const ids = new Set<string>()
  for (const { id, payloadSha256 } of messages) {
    if (id === undefined) continue
    ids.add(id)
    expected.add(pair(id, payloadSha256))
  }
  return {
    lost: [...expected].filter((wanted) => !accounted.has(wanted)).length,
    doubleEffects: [...ids].filter((id) => (effectsOf.get(id) ?? 0) > 1).length,
  }
}

/** A digest has 64 characters, so no two pairs read alike. */
function pair(id: string, payloadSha256: string): string {
  return `${payloadSha256}${id}`
}
