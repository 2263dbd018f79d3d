import { play, type Played } from './play.ts'
import type { Contender, Scenario } from './contenders.ts'

export { check } from '../../../testing/checker/check.ts'
export { CONTENDERS } from './contenders.ts'
export { judgedOutcome, outcomeOf } from './outcome.ts'

/** One turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

export function playSeed(seed: number, contender: Contender, scenario: Scenario = {}): Promise<Played> {
  return play(seed, contender, turn, scenario)
}
