import { EventEmitter, once } from 'node:events'
import type { Job, Measurement } from '../../suite.ts'

/** One start of many in a process. */
export interface OneStart {
  readonly job: Job
  /** Never used before. */
  readonly group: string
  /** Runs until the consumer is to stop: the first message is the only one that counts. */
  readonly handle: (id: unknown) => Promise<void>
}

/** Opens all that a consumer needs, its clients too, and starts it. Resolves with what ends it, its clients too. */
export type Start = (one: OneStart) => Promise<() => Promise<void>>

/** Of a process that has just begun, and of one whose code is warm. */
export const FIRST = 'first start ms'
export const LATER = 'later starts ms'

const LATER_STARTS = 8
const WITHIN_MS = 30_000

/** From the opening of the clients to the first message in its handler. `LATER` is a median. */
export function firstMessageAfter(start: Start): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const cpu = process.cpuUsage()
    const first = await timeOf(start, job, 0)
    const later: number[] = []
    while (later.length < (job.isSmoke ? 1 : LATER_STARTS)) later.push(await timeOf(start, job, later.length + 1))
    const { user, system } = process.cpuUsage(cpu)
    return {
      messages: 1 + later.length,
      tookMs: later.reduce((sum, ms) => sum + ms, first),
      cpuMs: (user + system) / 1_000,
      figures: { [FIRST]: first, [LATER]: later.toSorted((a, b) => a - b)[Math.floor(later.length / 2)] ?? first },
    }
  }
}

async function timeOf(start: Start, job: Job, number: number): Promise<number> {
  const ending = new EventEmitter()
  const over = (async () => void (await once(ending, 'over')))()
  const startedAt = performance.now()
  let starting: ReturnType<Start> | undefined
  const took = await new Promise<number>((resolve, reject) => {
    setTimeout(() => reject(new Error(`no message within ${WITHIN_MS / 1_000} s`)), WITHIN_MS).unref()
    const handle = (id: unknown): Promise<void> => {
      if (Number(id) >= 0 && Number(id) < job.ids) resolve(performance.now() - startedAt)
      else reject(new Error(`a message that nobody sent: ${String(id)}`))
      return over
    }
    starting = start({ job, group: `${job.name}_${number}`, handle })
    starting.catch(reject)
  })
  ending.emit('over')
  await (
    await starting
  )?.()
  return took
}
