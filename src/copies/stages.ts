import type { DurationMs } from '../core/units.ts'
import type { RetryCopy } from '../ports/source.ts'

/** A place of its own, such as a queue, for the copies that wait equally long. */
interface Stage {
  readonly delayMs: DurationMs
}

/**
 * Where a message waits after this number of attempts: the first time in the first stage, then in the second, and so on.
 * After the last one, the last one is used again. `undefined`: there are none.
 */
export function stageAfter<S extends Stage>(stages: readonly S[], attempts: number): S | undefined {
  return stages[Math.min(attempts, stages.length) - 1]
}

/** For a busy message the shortest delay that outlasts the other's lease, or else the longest. */
export function stageFor<S extends Stage>(stages: readonly S[], copy: RetryCopy): S {
  const { why, attempts, delayMs } = copy
  const byLength = stages.toSorted((one, other) => one.delayMs - other.delayMs)
  const outlasting = byLength.find((stage) => stage.delayMs >= delayMs) ?? byLength.at(-1)
  const stage = why === 'busy' ? outlasting : stageAfter(stages, attempts)
  if (stage === undefined) throw new TypeError(`no retry stage after ${attempts} attempts (stageFor)`)
  return stage
}
