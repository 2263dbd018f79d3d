import type { Effect } from './effects.ts'
import type { InputMessage } from './envelope.ts'
import type { DeadLetterRow } from './sources/demo-source.ts'

export interface Verified {
  /** Pairs of usable ID and payload digest with neither an effect nor a dead letter. */
  readonly lost: number
  /** IDs with more than one effect. */
  readonly doubleEffects: number
}

/** Compares effects and dead letters with the input, independently of all counters in the pipeline. */
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

/** The digest has a fixed length, so no two pairs have the same text. */
function pair(id: string, payloadSha256: string): string {
  return `${payloadSha256}${id}`
}
