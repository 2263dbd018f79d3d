import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { Scene } from '../chaos/beside.ts'
import type { WorkerSlot } from '../chaos/worker-slot.ts'
import { HANDLER_TIMEOUT_MS } from '../chaos/worker-settings.ts'
import type { Records, Sample, Transactions, WorkerSample } from './sample.ts'

const ANSWERS_WITHIN_MS = 2_000

/** Looks at servers and processes from the outside, again and again: also while some of them do not answer. */
export class Sampler implements AsyncDisposable {
  readonly samples: Sample[] = []
  readonly #scene: Scene
  readonly #pool: Pool
  readonly #redis: Redis | undefined

  constructor(scene: Scene) {
    this.#scene = scene
    this.#pool = new Pool({ connectionString: scene.postgresUrl, max: 2, query_timeout: ANSWERS_WITHIN_MS })
    this.#pool.on('error', () => {})
    if (scene.redisUrl !== undefined) {
      this.#redis = new Redis(scene.redisUrl, { commandTimeout: ANSWERS_WITHIN_MS })
      this.#redis.on('error', () => {})
    }
  }

  async run(everyMs: number, until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const [sample] = await Promise.all([this.#look(), sleep(everyMs)])
      this.samples.push(sample)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis?.disconnect()
    await this.#pool.end()
  }

  async #look(): Promise<Sample> {
    const at = this.#scene.journal.seconds * 1_000
    const workers = this.#scene.workers.flatMap((worker) => workerSample(worker))
    const [records, transactions, backlog] = await Promise.all([
      inTime(this.#records()),
      inTime(this.#transactions()),
      inTime(this.#scene.backlog()),
    ])
    return { at, records, transactions, backlog, workers }
  }

  async #records(): Promise<Records | undefined> {
    if (this.#redis !== undefined) {
      const [count, memory] = await Promise.all([this.#redis.dbsize(), this.#redis.info('memory')])
      return { count, mb: Number(/^used_memory:(\d+)/m.exec(memory)?.[1]) / 2 ** 20 }
    }
    const { rows } = await this.#pool.query<Records>(`
      select (select count(*) from consume_once.inbox)::int + (select count(*) from consume_once.attempt)::int as count,
        (pg_total_relation_size('consume_once.inbox') + pg_total_relation_size('consume_once.attempt'))::float8 / 2 ^ 20 as mb`)
    return rows[0]
  }

  async #transactions(): Promise<Transactions | undefined> {
    const age = `extract(epoch from clock_timestamp() - xact_start) * 1000`
    const { rows } = await this.#pool.query<Transactions>(
      `select count(*)::int as connections, (count(*) filter (where ${age} > $1))::int as lingering,
        coalesce(max(${age}), 0)::float8 as "oldestMs"
      from pg_stat_activity where split_part(application_name, '.', 1) = any ($2)`,
      [HANDLER_TIMEOUT_MS, this.#scene.workers.map(({ name }) => name)],
    )
    return rows[0]
  }
}

/** Nothing of a process that is not there. */
function workerSample({ current }: WorkerSlot): readonly WorkerSample[] {
  const { name, usage } = current
  try {
    const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${current.pid}/status`, 'utf8'))?.[1]
    return rss === undefined ? [] : [{ process: name, rssMb: Number(rss) / 1_024, usage }]
  } catch {
    return []
  }
}

/** A frozen server may answer a request long after. */
async function inTime<T>(answer: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  const late = sleep(ANSWERS_WITHIN_MS, undefined, { signal: over.signal }).catch(() => undefined)
  try {
    return await Promise.race([answer.catch(() => undefined), late])
  } finally {
    over.abort()
  }
}
