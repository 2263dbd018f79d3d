import type { Outcome, Tried } from './outcome.ts'
import type { Mutant } from '../mutants/mutant.ts'
import { simulateMutant, type Killing } from './simulate.ts'

/** Each mutant in schedules of the simulator, which uses all cores. */
export async function trySimulated(mutants: readonly Mutant[], onTried: (tried: Tried) => void): Promise<void> {
  for (const mutant of mutants) {
    const startedAt = performance.now()
    const outcome = outcomeIn(await simulateMutant(mutant))
    onTried({ mutant, outcome, seconds: (performance.now() - startedAt) / 1_000 })
  }
}

function outcomeIn({ firstSeed, anomalies, schedules, flagged }: Killing): Outcome {
  if (firstSeed === undefined) return { kind: 'alive', why: `${schedules} schedules found nothing` }
  return { kind: 'killed', by: `seed ${firstSeed}; ${anomalies.join(', ')} in ${flagged} of ${schedules} schedules` }
}
