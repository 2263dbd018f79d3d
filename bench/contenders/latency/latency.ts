import type { Job, Measurement } from '../../suite.ts'
import type { LoadOnce } from '../once/once.ts'
import { paced, type LoadLine } from './pace.ts'

type Run = (job: Job) => Promise<Measurement>

/** A loop by hand that can report arrivals before it handles them. */
type Loop = (load: LoadOnce, arrived: (id: string) => void) => Run

/** Each message by itself, by hand: from its arrival, or the start of its handler if the loop reports no arrivals, to the confirmed mark. */
export function pacedEachOnce(line: LoadLine, perSecond: number, load: LoadOnce, loopWith: () => Promise<Loop>): Run {
  return paced(line, perSecond, async (job, delays) => {
    const withOnce = await load()
    const timed: LoadOnce = async () => (given, consume, leaseMs) =>
      withOnce(
        given,
        (once) =>
          consume(async (id, run) => {
            delays.arrived(id)
            await once(id, run)
            delays.marked(id)
          }),
        leaseMs,
      )
    return (await loopWith())(timed, (id) => delays.arrived(id))(job)
  })
}
