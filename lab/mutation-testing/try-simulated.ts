import type { Fate, Tried } from './fate.ts'
import type { Mutant } from './mutant.ts'
import { simulateMutant, type Killing } from './simulate.ts'

/** Each mutant in schedules of the simulator, which uses all cores. */
export async function trySimulated(mutants: readonly Mutant[], onTried: (tried: Tried) => void): Promise<void> {
  for (const mutant of mutants) {
    const startedAt = performance.now()
    const fate = fateIn(await simulateMutant(mutant))
    onTried({ mutant, fate, seconds: (performance.now() - startedAt) / 1_000 })
  }
}

function fateIn({ firstSeed, anomalies, schedules, flagged }: Killing): Fate {
  if (firstSeed === undefined) return { kind: 'alive', why: `${schedules} schedules found nothing` }
  return { kind: 'killed', by: `seed ${firstSeed}; ${anomalies.join(', ')} in ${flagged} of ${schedules} schedules` }
}
