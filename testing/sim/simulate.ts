import { func, oneOf, optionsOf, type Table } from '../../src/foundation/options.ts'
import type { Rules } from '../checker/rules.ts'
import type { History } from '../history.ts'
import { PROMISES, type Plan } from './plan.ts'
import { Simulation, type SimulationOptions } from './simulation.ts'

/** A schedule that has ended. */
export interface Simulated {
  readonly seed: number
  readonly plan: Plan
  readonly history: History
  readonly rules: Rules
}

const SIMULATE: Table<SimulationOptions, 'promised' | 'handle'> = { promised: oneOf(...PROMISES), handle: func() }

/** Schedules that run side by side: one turn of the event loop serves all of them. */
const ABREAST = 64

/** Runs one schedule. The same seed gives the same history. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<Simulated> {
  for await (const simulated of simulateAll(seed, seed, options)) return simulated
  throw new TypeError('a schedule without an end (simulate)')
}

/**
 * Runs the schedules of the seeds from `from` to `to`, in any order.
 * @throws TypeError if that is no range, ConfigError for wrong options: nothing would be tested
 */
export async function* simulateAll(
  from: number,
  to: number,
  options: SimulationOptions = {},
): AsyncGenerator<Simulated> {
  checkAsked(from, to, options)
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

function checkAsked(from: number, to: number, options: SimulationOptions): void {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from > to) {
    throw new TypeError(`seeds: expected two whole numbers, the first at most the second, got ${from} and ${to}`)
  }
  optionsOf('simulate', SIMULATE, options)
}
