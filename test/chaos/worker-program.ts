// What every worker does, whatever broker it reads from. Killed, frozen, stopped and started again by the run.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import {
  defineConsumer,
  json,
  type Consumer,
  type ConsumerSettings,
  type Message,
  type ObserverEvent,
  type Running,
} from 'consume-once'
import { redisLease } from 'consume-once/ioredis'
import { postgresInbox } from 'consume-once/pg'
import type { Payload } from './messages.ts'
import { isPlantedIn } from './planted.ts'
import {
  EFFECTS,
  EXIT_NOT_STARTED,
  HANDLER_TIMEOUT_MS,
  IDLE_IN_TRANSACTION_MS,
  STOP_DEADLINE_MS,
  type WorkerLine,
  type WorkerSettings,
} from './worker-settings.ts'

/** What depends on the broker. */
type Tuning = Pick<
  ConsumerSettings<Payload, Payload, never>,
  'id' | 'concurrency' | 'leaseMs' | 'retentionMs' | 'maxAttempts' | 'retry'
>

interface Queries {
  readonly query: (text: string, values: readonly unknown[]) => Promise<unknown>
}

interface Handled {
  readonly payload: Payload
  readonly message: Message
  readonly attempt: number
}

/** What the run has told this process. */
export function readSettings(): unknown {
  return JSON.parse(process.argv[2] ?? '')
}

/** Runs until SIGTERM, and then ends the process. */
export async function work(
  settings: WorkerSettings,
  tuning: Tuning,
  run: (consumer: Consumer) => Promise<Running>,
): Promise<void> {
  const asked = new Promise<void>((resolve) => process.once('SIGTERM', resolve))
  process.stdin.resume().once('end', () => process.exit(0)) // Nobody is there any more.
  const outcomes = new Outcomes()
  try {
    const running = await run(consumerOf(settings, tuning, outcomes))
    say({ says: 'running' })
    await asked
    await running.stop({ deadlineMs: STOP_DEADLINE_MS })
    outcomes.say()
    say({ says: 'stopped' })
    process.exit(0)
  } catch (error) {
    console.error(error)
    process.exit(EXIT_NOT_STARTED)
  }
}

function consumerOf(settings: WorkerSettings, tuning: Tuning, outcomes: Outcomes): Consumer {
  const pool = new Pool({ connectionString: settings.postgresUrl, max: 6 })
  pool.on('error', () => {}) // Postgres ends the transaction of a process that was frozen.
  const effects = new Effects(settings, pool)
  const options = {
    name: 'chaos',
    decode: json<Payload>(),
    handlerTimeoutMs: HANDLER_TIMEOUT_MS,
    maxInFlight: 500,
    observe: (event: ObserverEvent) => outcomes.observe(event),
    ...tuning,
  }
  if (settings.redisUrl === undefined) {
    const store = postgresInbox({ pool, idleInTransactionTimeoutMs: IDLE_IN_TRANSACTION_MS })
    return defineConsumer({
      ...options,
      store,
      batchSize: 20,
      handle: (context) => effects.handle(context, context.tx),
    })
  }
  const redis = new Redis(settings.redisUrl)
  redis.on('error', () => {})
  return defineConsumer({
    ...options,
    store: redisLease({ redis }),
    handle: (context) => effects.handle(context, pool),
  })
}

class Effects {
  readonly #settings: WorkerSettings
  readonly #pool: Queries

  constructor(settings: WorkerSettings, pool: Queries) {
    this.#settings = settings
    this.#pool = pool
  }

  /** The effect comes in the middle, so that a process can die on either side of it. */
  async handle({ payload, message, attempt }: Handled, queries: Queries): Promise<void> {
    const { id, workMs, fails } = payload
    const { process: name, planted } = this.#settings
    const begunAt = Date.now()
    await sleep(workMs / 2)
    if (fails === 'always' || (fails === 'once' && attempt === 1)) throw new Error(`fails ${fails}`)
    if (isPlantedIn('skip', planted, id)) return
    const effect = [id, name, begunAt, message.position, attempt]
    await insert(queries, effect)
    if (isPlantedIn('double', planted, id)) await insert(this.#pool, effect)
    await sleep(workMs / 2)
  }
}

function insert(queries: Queries, effect: readonly unknown[]): Promise<unknown> {
  return queries.query(`insert into ${EFFECTS} values ($1, $2, $3, $4, $5)`, effect)
}

/** Tells the run what happens: events at once, outcomes as counts now and then. */
class Outcomes {
  #counts: Record<string, number> = {}

  constructor() {
    setInterval(() => this.say(), 500).unref()
  }

  observe(event: ObserverEvent): void {
    switch (event.type) {
      case 'delivery':
        this.#counts[event.outcome] = (this.#counts[event.outcome] ?? 0) + 1
        break
      case 'source':
        say({ says: 'event', event: event.event, detail: event.detail })
        break
      case 'attempt-failed':
      case 'result-not-kept':
      case 'policy-threw':
      case 'beyond-retention':
      case 'purge-failed':
      case 'in-doubt':
      case 'lease-lost':
      case 'stuck':
      case 'publish-failed':
      case 'store-down':
      case 'store-up':
        say({ says: 'event', event: event.type, detail: 'error' in event ? String(event.error) : undefined })
        break
      case 'claims':
      case 'marks':
      case 'settles':
      case 'purged':
        break
    }
  }

  say(): void {
    if (Object.keys(this.#counts).length > 0) say({ says: 'outcomes', counts: this.#counts })
    this.#counts = {}
  }
}

function say(line: WorkerLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
