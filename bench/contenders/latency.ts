import type { Job, Measurement } from '../suite.ts'
import type { LoadOnce } from './once.ts'
import { paced, type LoadLine } from './pace.ts'

type Run = (job: Job) => Promise<Measurement>

/** Each message by itself, by hand: from the top of its handler to the answer that it is marked. */
export function pacedEachOnce(
  line: LoadLine,
  perSecond: number,
  load: LoadOnce,
  loopWith: () => Promise<(load: LoadOnce) => Run>,
): Run {
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
    return (await loopWith())(timed)(job)
  })
}
