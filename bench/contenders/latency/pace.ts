import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Measurement } from '../../suite.ts'
import { Delays, wallNow, type Sent } from './delays.ts'
import type { Line } from './line.ts'
import { partGiven, startPart } from '../part.ts'

/** Loads its client where it is used. */
export type LoadLine = () => Promise<Line>

export const lineOnKafka: LoadLine = async () => (await import('./pace-kafka.ts')).lineOnKafka
export const lineOnRabbit: LoadLine = async () => (await import('./pace-rabbit.ts')).lineOnRabbit

const TICK_MS = 5

/** What runs for hours has been compiled, whatever its rate. */
export const WARM_UP = 2_000
const WARM_UP_PER_SECOND = 1_000

/** How long is measured. */
const SECONDS = 6
const LEAST = 100

/** How many messages a scenario sends. */
export function messagesAt(perSecond: number): number {
  return WARM_UP + Math.max(LEAST, SECONDS * perSecond)
}

/** A smoke run does not wait for a slow pace. */
const LEAST_IN_SMOKE = 200

/** A smoke run sends few. */
function warmUpOf({ messages, isSmoke }: Job): number {
  return isSmoke ? Math.floor(messages / 4) : WARM_UP
}

/** Another process sends `perSecond` messages after a warm-up, evenly spaced, and does not wait for the consumer. */
export function paced(
  load: LoadLine,
  perSecond: number,
  consume: (job: Job, delays: Delays) => Promise<Measurement>,
): (job: Job) => Promise<Measurement> {
  return async (given) => {
    const job = { ...given, place: given.name }
    const line = await load()
    if (partGiven() !== undefined) {
      const sent = await produce(job, perSecond, await line.openProducer(job))
      process.send?.(sent)
      // Answers of the broker may be under way; it ends with the process that has started it.
      return new Promise<never>((_, reject) => process.once('disconnect', () => reject(new Error('told to end'))))
    }
    await line.create(job)
    const producer = startPart({})
    const failed = new Promise<never>((_, reject) => {
      producer.once('exit', (code) => reject(new Error(`the producer ended by itself, with ${code}`)))
    })
    const sent = new Promise<Sent>((resolve) => producer.once('message', (message) => resolve(message as Sent)))
    const delays = new Delays(job.messages, warmUpOf(job))
    await Promise.race([consume(job, delays), failed])
    const measurement = delays.measurement(await Promise.race([sent, failed]))
    producer.removeAllListeners('exit')
    producer.kill()
    await line.remove(job)
    return measurement
  }
}

async function produce(job: Job, perSecond: number, send: (ids: readonly number[]) => void): Promise<Sent> {
  const warmUp = warmUpOf(job)
  return [
    ...(await produceEvenly(0, warmUp, WARM_UP_PER_SECOND, send)),
    ...(await produceEvenly(warmUp, job.messages, job.isSmoke ? Math.max(perSecond, LEAST_IN_SMOKE) : perSecond, send)),
  ]
}

async function produceEvenly(
  first: number,
  end: number,
  perSecond: number,
  send: (ids: readonly number[]) => void,
): Promise<Sent> {
  const ticks: [number, number][] = []
  const startedAt = performance.now()
  for (let next = first; next < end;) {
    await sleep(TICK_MS)
    const due = Math.min(end, first + Math.floor(((performance.now() - startedAt) * perSecond) / 1_000))
    const from = next
    if (due <= from) continue
    ticks.push([from, wallNow()])
    send(Array.from({ length: due - from }, (_, at) => from + at))
    next = due
  }
  return ticks
}
