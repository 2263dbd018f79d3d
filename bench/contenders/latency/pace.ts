import { setTimeout as sleep } from 'node:timers/promises'
import type { Job, Measurement } from '../../suite.ts'
import { Delays } from './delays.ts'
import type { Line } from './line.ts'
import { partGiven, startPart } from '../part.ts'

/** Loads its client where it is used. */
export type LoadLine = () => Promise<Line>

export const lineOnKafka: LoadLine = async () => (await import('./pace-kafka.ts')).lineOnKafka
export const lineOnRabbit: LoadLine = async () => (await import('./pace-rabbit.ts')).lineOnRabbit

const TICK_MS = 5

/** Another process sends `perSecond` messages, evenly spaced, and does not wait for the consumer. */
export function paced(
  load: LoadLine,
  perSecond: number,
  consume: (job: Job, delays: Delays) => Promise<Measurement>,
): (job: Job) => Promise<Measurement> {
  return async (given) => {
    const job = { ...given, place: given.name }
    const line = await load()
    if (partGiven() !== undefined) {
      await produce(job, perSecond, await line.openProducer(job))
      // Answers of the broker may be under way; it ends with the process that has started it.
      return new Promise<never>((_, reject) => process.once('disconnect', () => reject(new Error('told to end'))))
    }
    await line.create(job)
    const producer = startPart({})
    const failed = new Promise<never>((_, reject) => {
      producer.once('exit', (code) => reject(new Error(`the producer ended by itself, with ${code}`)))
    })
    const delays = new Delays(job.messages)
    const measurement = await Promise.race([consume(job, delays), failed])
    producer.removeAllListeners('exit')
    producer.kill()
    await line.remove(job)
    return { ...measurement, figures: delays.figures() }
  }
}

async function produce({ messages }: Job, perSecond: number, send: (ids: readonly number[]) => void): Promise<void> {
  const startedAt = performance.now()
  for (let sent = 0; sent < messages;) {
    await sleep(TICK_MS)
    const due = Math.min(messages, Math.floor(((performance.now() - startedAt) * perSecond) / 1_000))
    const from = sent
    if (due > from) send(Array.from({ length: due - from }, (_, at) => from + at))
    sent = due
  }
}
