import type { Consumer } from 'consume-once'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import type { LoadBroker } from '../library/broker.ts'
import { commonSettings, consumeAllOnce, type Settings } from '../library/consume-once.ts'

/** Settings of a replay consumer, besides its store and its handler. */
type ReplaySettings = Pick<Required<Settings>, 'name' | 'id' | 'decode' | 'observe' | 'scope'>
/** To be called with the ID of each message that is handled. */
type Started = (id: unknown) => void

/** Both passes together may run as many handlers as there are IDs. */
export function replayed(
  load: LoadBroker,
  job: Job,
  consumerOf: (settings: ReplaySettings, started: Started) => Consumer,
): Promise<Measurement> {
  return secondTime(job, async (group, tally, started) => {
    const broker = await load()
    const settings = { ...commonSettings(broker, tally), scope: job.name }
    return consumeAllOnce(broker, group, tally, consumerOf(settings, started))
  })
}

/** Consumes all of a topic as two groups, one after the other, and measures the second. */
export async function secondTime(
  job: Job,
  consume: (group: Job, tally: Tally, started: Started) => Promise<Measurement>,
): Promise<Measurement> {
  const [first, again] = [new Tally(job), new Tally(job)]
  const started: Started = (id) => {
    first.started(id)
    again.started(id)
  }
  await consume({ ...job, name: `${job.name}_first` }, first, started)
  return consume(job, again, started)
}
