import type { Rules } from '../checker/check.ts'
import type { History } from '../history.ts'
import type { Plan } from './plan.ts'
import { Simulation, type SimulationOptions } from './simulation.ts'

/** A schedule that has ended. */
export interface Simulated {
  readonly seed: number
  readonly plan: Plan
  readonly history: History
  readonly rules: Rules
}

/** Schedules that run side by side: the event loop turns for all of them at once. */
const ABREAST = 64

/** Runs one schedule. The same seed gives the same history. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Simulated> {
  for await (const simulated of simulateAll(seed, seed, options)) return simulated
  throw new TypeError('a schedule without an end (simulate)')
}

/** Runs schedules, in no order. */
export async function* simulateAll(
  from: number,
  to: number,
  options: SimulationOptions = {},
): AsyncGenerator<Simulated> {
  let seed = from
  let running: Simulation[] = []
  for (;;) {
    while (running.length < ABREAST && seed <= to) running.push(new Simulation(seed++, options))
    if (running.length === 0) return
    await new Promise<void>((resolve) => void setImmediate(resolve))
    const going: Simulation[] = []
    for (const simulation of running) {
      if (simulation.step()) going.push(simulation)
      else yield simulation
    }
    running = going
  }
}
