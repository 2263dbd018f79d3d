import type { Consumer } from 'consume-once'
import type { Job, Measurement } from '../../suite.ts'
import { Tally } from '../../tally.ts'
import type { LoadBroker } from '../library/broker.ts'
import { CPU_IN_ALL, HEAP_EARLY, HEAP_LATE, RSS_EARLY, RSS_LATE, RSS_MOST } from './replay-figures.ts'
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

const SAMPLE_EVERY_MS = 250

/** Consumes all of a topic once, and then so many times again in the same process, each time as another group. */
export async function replayedAgain(
  load: LoadBroker,
  job: Job,
  times: number,
  consumerOf: (settings: ReplaySettings, started: Started) => Consumer,
): Promise<Measurement> {
  const broker = await load()
  const [first, ...again] = Array.from({ length: times + 1 }, () => new Tally(job)) as [Tally, ...Tally[]]
  const started: Started = (id) => {
    for (const tally of [first, ...again]) tally.started(id)
  }
  const pass = (tally: Tally, name: string): Promise<Measurement> => {
    const settings = { ...commonSettings(broker, tally), scope: job.name }
    return consumeAllOnce(broker, { ...job, name: `${job.name}_${name}` }, tally, consumerOf(settings, started))
  }
  await pass(first, 'first')
  const [after, held, passes]: [number[], number[], Measurement[]] = [[], [], []]
  let most = 0
  const sampling = setInterval(() => (most = Math.max(most, rssMb())), SAMPLE_EVERY_MS)
  for (const [at, tally] of again.entries()) {
    passes.push(await pass(tally, `again_${at}`))
    after.push(rssMb())
    globalThis.gc?.()
    held.push(process.memoryUsage().heapUsed / 2 ** 20)
  }
  clearInterval(sampling)
  const early = Math.ceil(times / 10) - 1
  const sum = (of: 'messages' | 'tookMs' | 'cpuMs'): number => passes.reduce((all, one) => all + one[of], 0)
  return {
    messages: sum('messages'),
    tookMs: sum('tookMs'),
    cpuMs: sum('cpuMs'),
    figures: {
      [CPU_IN_ALL]: sum('cpuMs') / 1_000,
      [HEAP_EARLY]: held[early] ?? Number.NaN,
      [HEAP_LATE]: held.at(-1) ?? Number.NaN,
      [RSS_EARLY]: after[early] ?? Number.NaN,
      [RSS_LATE]: after.at(-1) ?? Number.NaN,
      [RSS_MOST]: most,
    },
  }
}

const rssMb = (): number => process.memoryUsage.rss() / 2 ** 20

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
