import { play, type Played } from './play.ts'
import type { Contender } from './contenders.ts'

export { check } from '../../../testing/checker/check.ts'
export { CONTENDERS } from './contenders.ts'
export { outcomeOf } from './outcome.ts'

/** One turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

export function playSeed(seed: number, contender: Contender): Promise<Played> {
  return play(seed, contender, turn)
}
