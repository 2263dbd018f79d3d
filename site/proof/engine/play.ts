import type { History, Rules } from '../../../testing/index.ts'
import type { Plan } from '../../../testing/sim/plan.ts'
import { Simulation } from '../../../testing/sim/simulation.ts'
import { castOf, type Contender, type Scenario } from './contenders.ts'

export interface Played {
  readonly plan: Plan
  readonly history: History
  readonly rules: Rules
  /** For each intervention the index of its first event, if it began. */
  readonly begun: readonly (number | undefined)[]
}

/** Runs the schedule of a seed. `turn` resolves when all promises of the last step have settled. */
export async function play(
  seed: number,
  contender: Contender,
  turn: () => Promise<void>,
  scenario: Scenario = {},
): Promise<Played> {
  const simulation = new Simulation(seed, {}, castOf(contender, scenario))
  do {
    await turn()
  } while (simulation.step())
  return simulation
}
