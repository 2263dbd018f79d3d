// What every worker does, whatever broker it reads from. Killed, frozen, stopped and started again by the run.
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import {
  defineConsumer,
  json,
  type Consumer,
  type ConsumerSettings,
  type ObserverEvent,
  type Starting,
} from 'consume-once'
import { redisLease } from 'consume-once/ioredis'
import { postgresInbox } from 'consume-once/pg'
import { Effects } from './effects.ts'
import type { Payload } from './messages.ts'
import { tellUsage } from './usage.ts'
import {
  EXIT_NOT_STARTED,
  HANDLER_TIMEOUT_MS,
  IDLE_IN_TRANSACTION_MS,
  SOAK_SCOPE,
  STOP_DEADLINE_MS,
  TELL_USAGE_EVERY_MS,
  type WorkerLine,
  type WorkerSettings,
} from './worker-settings.ts'

/** What depends on the broker. */
type Tuning = Pick<
  ConsumerSettings<Payload, Payload, never>,
  'id' | 'concurrency' | 'leaseMs' | 'retentionMs' | 'maxAttempts' | 'backoff'
>

/** What the run has told this process. */
export function readSettings(): unknown {
  return JSON.parse(process.argv[2] ?? '')
}

/** Runs until SIGTERM, and then ends the process. */
export async function work(
  settings: WorkerSettings,
  tuning: Tuning,
  run: (consumer: Consumer) => Starting,
): Promise<void> {
  const asked = new Promise<void>((resolve) => process.once('SIGTERM', resolve))
  process.stdin.resume().once('end', () => process.exit(0)) // Nobody is there any more.
  const outcomes = new Outcomes()
  if (settings.soak !== undefined) tellUsage(TELL_USAGE_EVERY_MS, (usage) => say({ says: 'usage', usage }))
  try {
    const running = run(consumerOf(settings, tuning, outcomes))
    // Stopped while it starts, it need not have joined first.
    const cancelled = asked.then(() => 'cancelled' as const)
    if ((await Promise.race([running.ready(), cancelled])) !== 'cancelled') say({ says: 'running' })
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
  const { postgresUrl, redisUrl, soak } = settings
  const pool = new Pool({ connectionString: postgresUrl, max: 6, application_name: settings.process })
  pool.on('error', () => {}) // Postgres ends the transaction of a process that was frozen.
  const effects = new Effects(settings, pool)
  const options = {
    name: 'chaos',
    decode: json<Payload>(),
    handlerTimeoutMs: HANDLER_TIMEOUT_MS,
    maxInFlight: 500,
    observe: (event: ObserverEvent) => outcomes.observe(event),
    ...tuning,
    ...(soak === undefined ? {} : { scope: SOAK_SCOPE, retentionMs: soak.retentionMs }),
  }
  if (redisUrl === undefined) {
    if (soak !== undefined) {
      return defineConsumer({
        ...options,
        store: postgresInbox({ pool }),
        batchSize: 200,
        handleBatch: ({ messages, tx }) => effects.handle(messages, tx),
      })
    }
    return defineConsumer({
      ...options,
      store: postgresInbox({ pool, idleInTransactionTimeoutMs: IDLE_IN_TRANSACTION_MS }),
      batchSize: 20,
      handle: (context) => effects.handle([context], context.tx),
    })
  }
  const redis = new Redis(redisUrl)
  redis.on('error', () => {})
  return defineConsumer({
    ...options,
    store: redisLease({ redis }),
    handle: (context) => effects.handle([context], pool),
  })
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
      case 'invariant-broken':
        say({ says: 'event', event: event.type, detail: 'error' in event ? String(event.error) : undefined })
        break
      case 'started':
      case 'stalled':
      case 'stall-over':
      case 'stopped':
      case 'handler-run':
      case 'store-call':
      case 'apart':
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
