// One process of a consumer group, as a user would write it. Killed, frozen, stopped and started again by the run.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import {
  defineConsumer,
  json,
  messageId,
  type Consumer,
  type Message,
  type ObserverEvent,
  type Running,
} from 'consume-once'
import { redisLease } from 'consume-once/ioredis'
import { runKafka } from 'consume-once/kafkajs'
import { postgresInbox } from 'consume-once/pg'
import type { Payload } from './messages.ts'
import { isPlantedIn, withPlantedCommits } from './planted.ts'
import {
  EFFECTS,
  EXIT_NOT_STARTED,
  HANDLER_TIMEOUT_MS,
  IDLE_IN_TRANSACTION_MS,
  LEASE_MS,
  SESSION_MS,
  STOP_DEADLINE_MS,
  type WorkerLine,
  type WorkerSettings,
} from './worker-settings.ts'

interface Queries {
  readonly query: (text: string, values: readonly unknown[]) => Promise<unknown>
}

interface Handled {
  readonly payload: Payload
  readonly message: Message
  readonly attempt: number
}

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings
const pool = new Pool({ connectionString: settings.postgresUrl, max: 6 })
pool.on('error', () => {}) // Postgres ends the transaction of a process that was frozen.

const settingsOfAll = {
  name: 'chaos',
  id: messageId.header('message-id'),
  decode: json<Payload>(),
  leaseMs: LEASE_MS,
  handlerTimeoutMs: HANDLER_TIMEOUT_MS,
  // A message that happens to be there at many kills is no poison.
  maxAttempts: 50,
  maxInFlight: 500,
  retry: { initialMs: 50, maxMs: 1_000 },
  observe,
}

function inboxConsumer(): Consumer {
  const store = postgresInbox({ pool, idleInTransactionTimeoutMs: IDLE_IN_TRANSACTION_MS })
  return defineConsumer({
    ...settingsOfAll,
    store,
    batchSize: 20,
    handle: (context) => handle(context, context.tx),
  })
}

function leaseConsumer(url: string): Consumer {
  const redis = new Redis(url)
  redis.on('error', () => {})
  return defineConsumer({ ...settingsOfAll, store: redisLease({ redis }), handle: (context) => handle(context, pool) })
}

/** The effect comes in the middle, so that a process can die on either side of it. */
async function handle({ payload, message, attempt }: Handled, queries: Queries): Promise<void> {
  const { id, workMs, failsOnce } = payload
  const begunAt = Date.now()
  await sleep(workMs / 2)
  if (failsOnce && attempt === 1) throw new Error('fails once')
  if (isPlantedIn('skip', settings.planted, id)) return
  const effect = [id, settings.process, begunAt, message.position, attempt]
  await insert(queries, effect)
  if (isPlantedIn('double', settings.planted, id)) await insert(pool, effect)
  await sleep(workMs / 2)
}

function insert(queries: Queries, effect: readonly unknown[]): Promise<unknown> {
  return queries.query(`insert into ${EFFECTS} values ($1, $2, $3, $4, $5)`, effect)
}

let counts: Record<string, number> = {}

function observe(event: ObserverEvent): void {
  switch (event.type) {
    case 'delivery':
      counts[event.outcome] = (counts[event.outcome] ?? 0) + 1
      break
    case 'source':
      say({ says: 'event', event: event.event, detail: event.detail })
      break
    case 'attempt-failed':
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
      break
  }
}

function sayCounts(): void {
  if (Object.keys(counts).length > 0) say({ says: 'outcomes', counts })
  counts = {}
}

function say(line: WorkerLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function stop(running: Running): Promise<void> {
  await running.stop({ deadlineMs: STOP_DEADLINE_MS })
  sayCounts()
  say({ says: 'stopped' })
  process.exit(0)
}

const asked = new Promise<void>((resolve) => process.once('SIGTERM', resolve))
process.stdin.resume().once('end', () => process.exit(0)) // Nobody is there any more.
setInterval(sayCounts, 500).unref()

try {
  const client = new Kafka({ brokers: [...settings.brokers], logLevel: logLevel.NOTHING })
  const consumer = settings.redisUrl === undefined ? inboxConsumer() : leaseConsumer(settings.redisUrl)
  const running = await runKafka(withPlantedCommits(client, settings.planted), consumer, {
    topics: [settings.topic],
    groupId: settings.groupId,
    commitEveryMs: 200,
    consumer: {
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: SESSION_MS,
      heartbeatInterval: 500,
      // A fetch in long poll at one broker while another rejoins is how messages are jumped over.
      maxWaitTimeInMs: 1_500,
    },
  })
  say({ says: 'running' })
  await asked
  await stop(running)
} catch (error) {
  console.error(error)
  process.exit(EXIT_NOT_STARTED)
}
