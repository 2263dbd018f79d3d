import type { History, Rules } from '../../../testing/index.ts'
import type { Plan } from '../../../testing/sim/plan.ts'
import { Simulation } from '../../../testing/sim/simulation.ts'
import { castOf, type Contender } from './contenders.ts'

export interface Played {
  readonly plan: Plan
  readonly history: History
  readonly rules: Rules
}

/** Runs the schedule of a seed. `turn` resolves when all promises of the last step have settled. */
export async function play(seed: number, contender: Contender, turn: () => Promise<void>): Promise<Played> {
  const simulation = new Simulation(seed, {}, castOf(contender))
  do {
    await turn()
  } while (simulation.step())
  return simulation
}
