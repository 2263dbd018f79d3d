import { Pool } from 'pg'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import type { Effect, EvidenceOfEffects } from './evidence.ts'
import type { SourceSpec, StoreSpec } from '../kit/worker/spec.ts'
import { Journal } from './journal.ts'
import type { Beside, Scene } from './beside.ts'
import { Pace } from './pace.ts'
import { WORKERS, type RunOptions } from './plan.ts'
import { together } from './together.ts'
import { EFFECTS, HANDLER_TIMEOUT_MS, IDLE_IN_TRANSACTION_MS, SOAK_SCOPE, STOP_DEADLINE_MS } from './worker-settings.ts'
import { WorkerSlot, type Tuning, type WorkerProgram } from './worker-slot.ts'

interface Play {
  readonly act: (pace: Pace, deadline: AbortSignal) => Promise<void>
  readonly beside: Beside
  readonly backlog: () => Promise<number>
}

/** The parts of a run that depend on the broker. */
interface Job {
  readonly module: URL
  readonly source: SourceSpec
  readonly tuning: Tuning
}

type Urls = Pick<Scene, 'postgresUrl' | 'redisUrl'>

/** Everything around a run except the broker: the store, the table of effects, and the workers. */
export class Stage {
  readonly journal: Journal = new Journal()
  readonly #urls: Urls
  readonly #options: RunOptions
  readonly #pool: Pool
  readonly #workers: WorkerSlot[] = []

  private constructor(options: RunOptions, pool: Pool, urls: Urls) {
    this.#options = options
    this.#pool = pool
    this.#urls = urls
  }

  /** Everything that was started ends with `act`. */
  static async with<T>(options: RunOptions, act: (stage: Stage) => Promise<T>): Promise<T> {
    await using postgres = await startPrivatePostgres({ settings: { track_commit_timestamp: 'on' } })
    await using redis = options.store === 'redis' ? await startPrivateRedis() : undefined
    const pool = new Pool({ connectionString: postgres.url, max: 2 })
    pool.on('error', () => {})
    const stage = new Stage(options, pool, { postgresUrl: postgres.url, redisUrl: redis?.url })
    try {
      await createEffects(pool)
      return await act(stage)
    } finally {
      await Promise.all(stage.#workers.map((worker) => worker.end()))
      await pool.end()
    }
  }

  /** Slots of the workers, all empty. */
  hire(job: Job): readonly WorkerSlot[] {
    const program = this.#programOf(job)
    for (let number = 1; number <= WORKERS; number++) {
      this.#workers.push(new WorkerSlot(`w${number}`, program, this.journal))
    }
    return this.#workers
  }

  /**
   * Starts the workers, and stops them once `act` has sent everything and injected every fault, and the broker has nothing left for them.
   * `deadline` aborts when the time is over.
   */
  async play({ act, beside, backlog }: Play): Promise<void> {
    const { minutes } = this.#options
    const deadline = AbortSignal.timeout(minutes * 60_000)
    const over = new AbortController()
    const pace = new Pace(this.#options, this.#pool, deadline)
    const scene = { ...this.#urls, journal: this.journal, workers: this.#workers, backlog }
    for (const worker of this.#workers) worker.start()
    const watching = together([pace.watch(over.signal), beside(scene, over.signal)])
    try {
      await act(pace, deadline)
    } catch (error) {
      if (!deadline.aborted) throw error
      this.journal.broken(`no end within ${minutes} minutes: ${pace.toString()}`)
    } finally {
      over.abort()
      await watching
    }
    await Promise.all(this.#workers.map((worker) => worker.stop()))
  }

  #programOf({ module, source, tuning }: Job): WorkerProgram {
    const { postgresUrl, redisUrl } = this.#urls
    const { planted, soak } = this.#options
    const consumer = {
      name: 'chaos',
      handlerTimeoutMs: HANDLER_TIMEOUT_MS,
      maxInFlight: 500,
      ...(redisUrl === undefined && { batchSize: soak === undefined ? 20 : 200 }),
      ...tuning,
      ...(soak && { scope: SOAK_SCOPE, retentionMs: soak.retentionMs }),
    }
    const options = soak === undefined ? { idleInTransactionTimeoutMs: IDLE_IN_TRANSACTION_MS } : {}
    const store: StoreSpec =
      redisUrl === undefined
        ? { on: 'postgres', strategy: 'inbox', url: postgresUrl, options }
        : { on: 'redis', strategy: 'lease', url: redisUrl }
    const settings = { postgresUrl, planted, soak }
    return { module, spec: { sources: [source], store, consumer, settings, stopDeadlineMs: STOP_DEADLINE_MS } }
  }

  async gather(leaseMs: number): Promise<EvidenceOfEffects> {
    const { store } = this.#options
    return { store, effects: await gatherEffects(this.#pool), faults: this.journal.faults, leaseMs }
  }
}

/** No key: doubles must be seen. */
export async function createEffects(pool: Pool): Promise<void> {
  await pool.query(
    `create table ${EFFECTS} (id text, process text, begun_at bigint, position text, attempt int, number bigserial)`,
  )
}

/** The time is that of the commit: Postgres keeps it (`track_commit_timestamp`) for the transaction of each row. */
async function gatherEffects(pool: Pool): Promise<readonly Effect[]> {
  const { rows } = await pool.query<Effect>(`
    select id, process, begun_at::float8 as "begunAt", extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as at
    from ${EFFECTS}`)
  if (rows.some(({ at }) => typeof at !== 'number')) throw new Error('Postgres does not track commit timestamps')
  return rows
}
