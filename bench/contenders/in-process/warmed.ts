import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'

/** Before that many messages the compiler is not done with the code. */
const WARM_UP = 50_000

/** Consumes all messages of the job, and counts them in the tally. */
export type Consume = (job: Pick<Job, 'messages' | 'ids'>, tally: Tally) => Promise<void>

/** Takes the time of a second run in the same process: what a message costs where the process has run for a while. */
export function warmed(consume: Consume): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const few = Math.min(job.messages, WARM_UP)
    await measured({ messages: few, ids: few }, consume)
    globalThis.gc?.()
    return measured(job, consume)
  }
}

async function measured(job: Pick<Job, 'messages' | 'ids'>, consume: Consume): Promise<Measurement> {
  const tally = new Tally(job)
  await consume(job, tally)
  await tally.complete
  return tally.measurement()
}
