// One consumer in a process of its own, as a user would write it: killed, frozen and cut off by the cell that runs it, and
// stopped by SIGTERM. Bundled before it is started, so that a start takes little.

import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { runRabbit } from '../../../adapters/amqplib/index.ts'
import { redisLease } from '../../../adapters/redis/ioredis/index.ts'
import { runKafka } from '../../../adapters/kafkajs/index.ts'
import {
  postgresInbox,
  postgresLease,
  postgresOffsets,
  type PgTransaction,
  type PostgresOffsetsOptions,
} from '../../../adapters/pg/index.ts'
import {
  defineConsumer,
  type Consumer,
  type HandlerContext,
  type ObserverEvent,
  type Store,
} from '../../../src/index.ts'
import { CONSUMER } from '../identity.ts'
import type { FaultMessage } from '../message.ts'
import { dropIntoKafka, dropIntoRabbit, type Stoppable } from './drop-in.ts'
import { callProvider, run, writeEffect } from './handler.ts'
import { IN_GROUP, kafkaOf } from './kafka.ts'
import { say } from './journal.ts'
import { withPlantedCommits, withPlantedMarks } from './planted.ts'
import {
  EXIT_NOT_STARTED,
  IDLE_IN_TRANSACTION_MS,
  LEASE_MS,
  MAX_ATTEMPTS,
  type PostgresPlace,
  type RedisPlace,
  type WorkerSettings,
} from './settings.ts'

const STOP_DEADLINE_MS = 5_000

async function main(settings: WorkerSettings): Promise<void> {
  process.stdin.resume().once('end', () => process.exit(0)) // Nobody is there any more.
  shiftCalendar(settings.clockShiftMs ?? 0)
  const running = await runOn(settings, consumerOf(settings))
  process.once('SIGTERM', () => void stop(running))
  say({ says: 'running' })
}

async function stop(running: Stoppable): Promise<void> {
  await running.stop({ deadlineMs: STOP_DEADLINE_MS })
  say({ says: 'stopped' })
  process.exit(0)
}

/** `Date` alone, as when somebody sets the clock of a machine: timers go on. */
function shiftCalendar(byMs: number): void {
  if (byMs === 0) return
  const now = Date.now.bind(Date)
  Date.now = () => now() + byMs
}

function runOn({ broker, planted, isDropIn = false }: WorkerSettings, consumer: Consumer): Promise<Stoppable> {
  if (isDropIn) return broker.kind === 'rabbitmq' ? dropIntoRabbit(broker, consumer) : dropIntoKafka(broker, consumer)
  if (broker.kind === 'rabbitmq') {
    return runRabbit(broker.url, consumer, { queue: broker.queue })
  }
  const { topics, groupId, hasRetryTopic } = broker
  return runKafka(withPlantedCommits(kafkaOf(broker), planted), consumer, {
    topics,
    group: groupId,
    commitEveryMs: 50,
    consumer: IN_GROUP,
    ...(hasRetryTopic ? { retry: { topics: [{ delayMs: 200 }] } } : {}),
  })
}

function consumerOf(settings: WorkerSettings): Consumer {
  const {
    leaseMs = LEASE_MS,
    handlerTimeoutMs = 10_000,
    graceMs = 500,
    maxAttempts = MAX_ATTEMPTS,
    concurrency = 8,
    batchSize,
  } = settings
  const options = {
    name: CONSUMER,
    leaseMs,
    handlerTimeoutMs,
    graceMs,
    maxAttempts,
    ...(settings.retentionMs === undefined ? {} : { retentionMs: settings.retentionMs }),
    backoff: { initialMs: 20, maxMs: 100 },
    observe: tell,
  }
  const identified = {
    ...options,
    id: ({ payload }: { readonly payload: FaultMessage }) => payload.id,
    ...(settings.resendsDiffer === true ? ({ onConflict: 'duplicate' } as const) : {}),
  }
  const { store: place, planted } = settings
  if (place.kind === 'inbox' || place.kind === 'offsets') {
    const handle = ({ payload, attempt, tx, signal }: HandlerContext<FaultMessage, PgTransaction>): Promise<void> => {
      const started = { payload, attempt, token: `${settings.process}/${attempt}`, signal }
      return run(started, () => writeEffect(tx, started, settings.process))
    }
    if (place.kind === 'offsets') {
      const store = withPlantedMarks(postgresOffsets(transactionsOn(place)), planted)
      return defineConsumer({ ...options, store, handle })
    }
    const store = withPlantedMarks(postgresInbox(transactionsOn(place)), planted)
    return defineConsumer({ ...identified, store, handle, ...(batchSize === undefined ? {} : { batchSize }) })
  }
  const lease = place.kind === 'lease on redis' ? redisLeaseOn(place) : postgresLeaseOn(place)
  return defineConsumer({
    ...identified,
    concurrency,
    onInDoubt: settings.onInDoubt,
    store: withPlantedMarks(lease, planted),
    handle: ({ payload, attempt, fence, idempotencyKey, signal }) => {
      const started = { payload, attempt, token: String(fence), signal }
      return run(started, () => callProvider(settings, started, idempotencyKey))
    },
  })
}

function transactionsOn(place: PostgresPlace): PostgresOffsetsOptions {
  return {
    pool: poolOf(place),
    schema: place.schema,
    setup: 'check',
    lockTimeoutMs: 500,
    queryTimeoutMs: 1_500,
    idleInTransactionTimeoutMs: IDLE_IN_TRANSACTION_MS,
  }
}

function postgresLeaseOn(place: PostgresPlace): Store {
  return postgresLease({
    pool: poolOf(place),
    schema: place.schema,
    setup: 'check',
    lockTimeoutMs: 300,
    queryTimeoutMs: 600,
  })
}

function poolOf({ url, schema, applicationName }: PostgresPlace): Pool {
  const session = { application_name: applicationName, options: `-c search_path=${schema}` }
  const pool = new Pool({ connectionString: url, max: 4, ...session })
  pool.on('error', () => {})
  return pool
}

function redisLeaseOn({ url, prefix, durability }: RedisPlace): Store {
  const redis = new Redis(url, { maxRetriesPerRequest: null })
  redis.on('error', () => {})
  return redisLease({ redis, prefix, durability, ...(durability === 'memory' ? { timeoutMs: 1_000 } : {}) })
}

function tell(event: ObserverEvent): void {
  switch (event.type) {
    case 'delivery':
      return say({ says: 'told', what: event.outcome, id: idOf(event.message.value) })
    case 'in-doubt':
    case 'beyond-retention':
      return say({ says: 'told', what: event.type, id: idOf(event.message.value) })
    case 'source':
      return say({ says: 'told', what: event.event, ...(event.detail === undefined ? {} : { detail: event.detail }) })
    case 'attempt-failed':
    case 'store-down':
    case 'publish-failed':
      return say({ says: 'told', what: event.type, detail: String(event.error) })
    case 'invariant-broken':
    case 'stuck':
    case 'lease-lost':
    case 'store-up':
      return say({ says: 'told', what: event.type })
    case 'apart':
    case 'claims':
    case 'marks':
    case 'started':
    case 'stalled':
    case 'stall-over':
    case 'stopped':
    case 'handler-run':
    case 'store-call':
    case 'settles':
    case 'purged':
    case 'purge-failed':
    case 'result-not-kept':
    case 'policy-threw':
      return
  }
}

function idOf(value: Uint8Array | null): string {
  return (JSON.parse(Buffer.from(value ?? '').toString()) as FaultMessage).id
}

main(JSON.parse(process.argv[2] ?? '') as WorkerSettings).catch((error: unknown) => {
  console.error(error)
  process.exit(EXIT_NOT_STARTED)
})
