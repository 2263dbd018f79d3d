import { runSeeds } from '../simulator/run-seeds.ts'
import type { Mutant } from '../mutants/mutant.ts'

/** A mutant that lives this long is a missing check. */
const MOST_SEEDS = 1_000

export interface Killing {
  /** The lowest seed that finds it; `undefined`: none does. */
  readonly firstSeed: number | undefined
  readonly anomalies: readonly string[]
  readonly schedules: number
  readonly flagged: number
}

/** Runs seeds until the mutant has been found. */
export async function simulateMutant(mutant: Mutant, to: number = MOST_SEEDS): Promise<Killing> {
  const { failures, schedules } = await runSeeds({ from: 1, to }, { mutant, mostFailures: Number.POSITIVE_INFINITY })
  const anomalies = new Set(failures.flatMap((failure) => failure.anomalies))
  return { firstSeed: failures[0]?.seed, anomalies: [...anomalies].toSorted(), schedules, flagged: failures.length }
}
