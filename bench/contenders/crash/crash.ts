import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Measurement } from '../../suite.ts'
import type { Broker } from '../library/broker.ts'
import { crashFigures, KILLED } from './crash-figures.ts'
import { Effects, effectsInto } from './effects.ts'
import { partGiven, startPart, untilTold } from '../part.ts'

/** Ends a consumer in good order. */
type Stop = () => Promise<void>

/** Consumes, and reports each effect before its handler returns. Then `end` waits until it is time, and ends the process. */
export type Work = (job: Job, effect: (id: unknown) => void, end: (stop: Stop) => Promise<never>) => Promise<void>

/** The source of the workers, and the questions of the process that kills them. */
export interface CrashBroker {
  readonly idOf: Broker['idOf']
  readonly run: Broker['run']
  /** By hand: settles each message when it was handled. */
  readonly each: (job: Job, handleOne: (id: string) => Promise<void>) => Promise<Stop>
  /** By hand: distinct IDs. */
  readonly inBatches?: (
    job: Job,
    batchSize: number,
    handleBatch: (ids: readonly string[]) => Promise<void>,
  ) => Promise<Stop>
  /** Whatever is not settled, a worker has. */
  readonly isTaken: (job: Job) => Promise<boolean>
  /** With `isTaken`: after this time without an effect the worker has most likely finished. */
  readonly quietMs: number
  /** After the last worker has left: all is settled. */
  readonly isSettled: (job: Job) => Promise<boolean>
  readonly deadLetters: (job: Job) => Promise<ReadonlySet<number>>
}

/** Loads its client where it is used. */
export type LoadCrashBroker = () => Promise<CrashBroker>

/** Supervises the workers; with effects that are to be read elsewhere than in the file, IDs with repetitions. */
type Supervise = (readEffects?: () => Promise<readonly number[]>) => Promise<Measurement>

interface Part {
  readonly file: string
  readonly worker: number
}

const WITHIN_MS = 240_000

/**
 * Kills a worker at full speed, at a random point of the middle third; another one does the rest.
 * `around` opens and removes what they share.
 */
export function crashing(
  broker: CrashBroker,
  work: Work,
  around: (supervise: Supervise) => Promise<Measurement>,
): (job: Job) => Promise<Measurement> {
  return async (job) => {
    const part = partGiven() as Part | undefined
    if (part === undefined) return around((readEffects) => supervised(job, broker, readEffects))
    await work(job, effectsInto(part.file, part.worker), async (stop) => {
      await untilTold()
      await stop()
      process.exit(0)
    })
    throw new Error('a worker ends by its end')
  }
}

async function supervised(job: Job, broker: CrashBroker, readEffects: Parameters<Supervise>[0]): Promise<Measurement> {
  using effects = new Effects()
  const startedAt = performance.now()
  const killed = startPart({ file: effects.file, worker: KILLED } satisfies Part)
  const at = (job.ids / 3) * (1 + Math.random())
  await until(killed, 1, async () => effects.count() >= at)
  await ended(killed, () => killed.kill('SIGKILL'))
  let worker = KILLED
  do {
    const running = startPart({ file: effects.file, worker: ++worker } satisfies Part)
    await until(
      running,
      100,
      quietly(effects, broker.quietMs, () => broker.isTaken(job)),
    )
    await ended(running, () => running.send('stop'))
  } while (!(await broker.isSettled(job)))
  const tookMs = performance.now() - startedAt
  const setAside = await broker.deadLetters(job)
  const committed = (await readEffects?.())?.map((id) => ({ id, worker: KILLED }))
  const figures = crashFigures({ effects: committed ?? effects.all(), ids: job.ids, setAside })
  const { user, system } = process.cpuUsage()
  return { messages: job.messages, tookMs, cpuMs: (user + system) / 1_000, figures }
}

/** A stopped worker hands back messages that it has not begun, and the next one would have to start for them. */
function quietly(effects: Effects, quietMs: number, isSo: () => Promise<boolean>): () => Promise<boolean> {
  let last = effects.count()
  let since = performance.now()
  return async () => {
    const isTrue = await isSo()
    const count = effects.count()
    if (count > last || !isTrue) since = performance.now()
    last = count
    return isTrue && performance.now() - since >= quietMs
  }
}

async function until(running: ChildProcess, everyMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WITHIN_MS
  while (!(await isSo())) {
    if (running.exitCode !== null) throw new Error(`a worker ended by itself, with ${running.exitCode}`)
    if (performance.now() > deadline) throw new Error(`a worker has not done its part within ${WITHIN_MS / 1_000} s`)
    await sleep(everyMs)
  }
}

async function ended(running: ChildProcess, end: () => void): Promise<void> {
  const exit = once(running, 'exit')
  end()
  await exit
}
