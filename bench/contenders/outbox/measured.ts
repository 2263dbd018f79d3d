import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { payloadOf } from '../../places/payload.ts'
import { serverOf, type Job, type Measurement } from '../../suite.ts'
import { lineOnKafka } from '../latency/pace-kafka.ts'
import { P50, P99 } from '../latency/delays.ts'
import type { Event, OpenOutbox, Outboxed } from './outboxes.ts'

const KEYS = 10_000
const CONNECTIONS = 8
const TICK_MS = 5

const eventOf = (id: number): Event => ({ id, key: `key-${id % KEYS}`, value: payloadOf(id) })

/** Counts what the broker has confirmed. */
class Confirmed {
  readonly at: Float64Array
  readonly all: Promise<void>
  #left: number
  #done: () => void = () => {}

  constructor(messages: number) {
    this.at = new Float64Array(messages)
    this.#left = messages
    this.all = new Promise((resolve) => {
      this.#done = resolve
    })
  }

  add(ids: readonly number[]): void {
    for (const id of ids) {
      if (this.at[id] !== 0) throw new Error(`${id} was published twice`)
      this.at[id] = performance.now()
      if (--this.#left === 0) this.#done()
    }
  }
}

/** All messages are committed before the relay starts. */
export function drained(open: OpenOutbox): (job: Job) => Promise<Measurement> {
  return (job) =>
    onOutbox(job, open, async (outbox) => {
      for (let from = 0; from < job.messages; from += 500) {
        const to = Math.min(job.messages, from + 500)
        await outbox.write(Array.from({ length: to - from }, (_, at) => eventOf(from + at)))
      }
      const confirmed = new Confirmed(job.messages)
      const [startedAt, cpu] = [performance.now(), process.cpuUsage()]
      await outbox.start((ids) => confirmed.add(ids))
      await confirmed.all
      return measurementOf(job.messages, startedAt, cpu)
    })
}

/** Each message in a transaction of its own, at a pace: from its COMMIT to the confirm. */
export function delayed(open: OpenOutbox, perSecond: number): (job: Job) => Promise<Measurement> {
  return (job) =>
    onOutbox(job, open, async (outbox) => {
      const confirmed = new Confirmed(job.messages)
      await outbox.start((ids) => confirmed.add(ids))
      const committedAt = new Float64Array(job.messages)
      const [startedAt, cpu] = [performance.now(), process.cpuUsage()]
      const writes: Promise<void>[] = []
      for (let next = 0; next < job.messages;) {
        await sleep(TICK_MS)
        const due = Math.min(job.messages, Math.floor(((performance.now() - startedAt) * perSecond) / 1_000))
        for (; next < due; next++) {
          const id = next
          writes.push(outbox.write([eventOf(id)]).then(() => void (committedAt[id] = performance.now())))
        }
      }
      await Promise.all(writes)
      await confirmed.all
      // A relay may be quicker than the answer to the COMMIT.
      const delays = confirmed.at.map((at, id) => Math.max(0, at - (committedAt[id] ?? 0))).slice(job.messages / 4)
      const sorted = delays.toSorted()
      const figures = {
        [P50]: sorted[Math.floor(sorted.length * 0.5)] ?? 0,
        [P99]: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      }
      return { ...measurementOf(job.messages, startedAt, cpu), figures }
    })
}

async function onOutbox(
  given: Job,
  open: OpenOutbox,
  measure: (outbox: Outboxed) => Promise<Measurement>,
): Promise<Measurement> {
  const job = { ...given, place: given.name }
  await lineOnKafka.create(job)
  const pool = new Pool({ connectionString: serverOf(job, 'postgres'), max: CONNECTIONS })
  await pool.query(`create schema ${job.name}`)
  try {
    const outbox = await open(job, pool)
    const measurement = await measure(outbox)
    await outbox.stop()
    return measurement
  } finally {
    await pool.query(`drop schema ${job.name} cascade; drop schema if exists ${job.name}_inbox cascade`)
    await pool.end()
    await lineOnKafka.remove(job)
  }
}

function measurementOf(messages: number, startedAt: number, cpu: NodeJS.CpuUsage): Measurement {
  const { user, system } = process.cpuUsage(cpu)
  return { messages, tookMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 }
}
