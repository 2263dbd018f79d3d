// A consumer in a process of its own, so that it can be killed and frozen: started by kafkajs-worker-process.ts, which it
// tells everything. What a handler does is in its message.

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { Pool } from 'pg'
import { redisLease } from '../../adapters/ioredis/index.ts'
import { kafkaBroker } from '../../adapters/kafkajs/index.ts'
import { postgresInbox, postgresOffsets, type PgTransaction } from '../../adapters/pg/index.ts'
import {
  defineConsumer,
  runConsumer,
  type ConsumerSettings,
  type Message,
  type Publisher,
  type Store,
} from '../../src/index.ts'
import { FAST } from './kafkajs-kit.ts'
import type { CrashPoint, WorkerConfig, WorkerEvent, WorkerMessage } from './kafkajs-worker-process.ts'

const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig

/** Resolves when it is on its way: what was told before the process kills itself arrives. */
function tell(what: string, about = ''): Promise<void> {
  return new Promise((resolve) => {
    process.send?.({ what, about } satisfies WorkerEvent, () => resolve())
  })
}

async function die(): Promise<never> {
  await tell('dies')
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

async function dieAt(point: CrashPoint): Promise<void> {
  if (config.dieAt === point) await die()
}

const letGo = new Promise<void>((resolve) => {
  process.on('message', () => resolve())
})

async function act({ id, does }: WorkerMessage, attempt: number, apply: () => Promise<unknown>): Promise<void> {
  await tell('started', `${id} ${attempt}`)
  if (does === 'kill') await die()
  if (does === 'fail') throw new Error('as it was told to')
  if (does === 'wait') await letGo
  if (does === 'linger') await sleep(100)
  await apply()
  await tell('effect', id)
}

/** A store that is a place to die at. The process is dead before it could answer, or after. */
function mortal<Tx>(store: Store<Tx>): Store<Tx> {
  return {
    strategy: store.strategy,
    ...(store.positions === undefined ? {} : { positions: store.positions }),
    open: () => store.open(),
    claim: (request) => store.claim(request),
    renew: (claims, leaseMs) => store.renew(claims, leaseMs),
    release: (claims, how) => store.release(claims, how),
    mark: async (claims) => {
      await dieAt('before the mark')
      const verdicts = await store.mark(claims)
      await dieAt('after the mark')
      return verdicts
    },
    setAside: async (claims, as, reason) => {
      await dieAt('before the set-aside')
      const verdicts = await store.setAside(claims, as, reason)
      await dieAt('after the set-aside')
      return verdicts
    },
  }
}

const mortalPublisher = (publisher: Publisher): Publisher => ({
  deadLetter: async (letter) => {
    await publisher.deadLetter(letter)
    await dieAt('after the dead letter')
  },
})

const kafka = new Kafka({ brokers: config.brokers, logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50 } })
const { source, publisher } = kafkaBroker(kafka, {
  ...FAST,
  topics: config.topics,
  groupId: config.groupId,
  commitEveryMs: config.commitEveryMs ?? 50,
  consumer: { ...FAST.consumer, sessionTimeout: config.sessionTimeoutMs, rebalanceTimeout: config.sessionTimeoutMs },
})
const settings: Omit<ConsumerSettings<WorkerMessage, WorkerMessage, never>, 'store'> = {
  name: 'worker',
  leaseMs: config.leaseMs ?? 1_500,
  maxAttempts: config.maxAttempts ?? 5,
  retry: { initialMs: 5, maxMs: 20 },
  observe: (event) => {
    if (event.type === 'delivery') void tell(event.outcome, idOf(event.message))
    if (event.type === 'in-doubt') void tell(event.type, idOf(event.message))
    if (event.type === 'lease-lost') void tell(event.type)
    if (event.type === 'source') void tell(event.event, event.detail)
  },
}
const consumer =
  'redis' in config.store
    ? defineConsumer({
        ...settings,
        id: ({ payload }) => payload.id,
        store: mortal(redisLease({ redis: new Redis(config.store.redis), prefix: config.store.prefix })),
        handle: ({ payload, attempt }) => act(payload, attempt, async () => {}),
      })
    : defineConsumer<WorkerMessage, WorkerMessage, PgTransaction>({
        ...settings,
        ...(config.store.strategy === 'offsets' ? {} : { id: ({ payload }) => payload.id }),
        store: mortal(postgresOf(config.store)),
        handle: ({ payload, attempt, tx }) =>
          act(payload, attempt, () => tx.query('insert into effect (name) values ($1)', [payload.id])),
      })

function postgresOf({
  postgres,
  schema,
  strategy,
}: Exclude<WorkerConfig['store'], { redis: string }>): Store<PgTransaction> {
  const pool = new Pool({ connectionString: postgres, max: 6, options: `-c search_path=${schema}` })
  return strategy === 'offsets' ? postgresOffsets({ pool, schema }) : postgresInbox({ pool, schema })
}

function idOf({ value }: Message): string {
  return (JSON.parse(Buffer.from(value ?? '').toString()) as WorkerMessage).id
}

process.on('disconnect', () => process.exit(1)) // Nobody is left to work for.
await runConsumer(consumer, { source, publisher: mortalPublisher(publisher) })
await tell('running')
