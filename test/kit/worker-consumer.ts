// The part of a worker that is the same on every broker: what its handlers do, where it dies, and what it tells the process
// that started it (worker-process.ts).

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { redisLease } from '../../adapters/redis/ioredis/index.ts'
import { mysqlInbox, mysqlLease, type MysqlTransaction } from '../../adapters/mysql2/index.ts'
import { postgresInbox, postgresLease, postgresOffsets, type PgTransaction } from '../../adapters/pg/index.ts'
import {
  defineConsumer,
  type Consumer,
  type ConsumerSettings,
  type Message,
  type Running,
  type Store,
} from '../../src/index.ts'
import { runConsumer, type Publisher, type RetryCopy, type Source } from '../../src/spi.ts'
import { withCalls } from './store-with.ts'
import type { CrashPoint, WorkerEvent, WorkerMessage, WorkerSettings } from './worker-process.ts'

/** What the process was started with. */
export function workerConfig(): WorkerSettings {
  return JSON.parse(process.argv[2] ?? '') as WorkerSettings
}

interface Broker {
  readonly source: Source
  readonly publisher: Publisher
}

/** Runs a consumer on each, until it is told to stop, or dies. */
export async function work(...brokers: readonly Broker[]): Promise<void> {
  process.on('disconnect', () => process.exit(1)) // Nobody is left to work for.
  const running = await Promise.all(
    brokers.map(({ source, publisher }) =>
      runConsumer(consumerOf(), { source, publisher: mortalPublisher(publisher) }),
    ),
  )
  process.on('message', (order) => {
    if (order === 'stop') void stop(running)
  })
  await tell('running')
}

async function stop(running: readonly Running[]): Promise<void> {
  await Promise.all(running.map((each) => each.stop({ deadlineMs: 20_000 })))
  await tell('stopped')
  process.exit(0)
}

type Settings = Omit<ConsumerSettings<WorkerMessage, WorkerMessage, never>, 'store'>

const config = workerConfig()

const letGo = new Promise<void>((resolve) => {
  process.on('message', (order) => {
    if (order === 'let go') resolve()
  })
})

function consumerOf(): Consumer {
  const settings: Settings = {
    name: 'worker',
    leaseMs: config.leaseMs ?? 1_500,
    maxAttempts: config.maxAttempts ?? 5,
    backoff: { initialMs: 5, maxMs: 20 },
    observe: (event) => {
      if (event.type === 'delivery') void tell(event.outcome, idOf(event.message))
      if (event.type === 'in-doubt') void tell(event.type, idOf(event.message))
      if (event.type === 'lease-lost' || event.type === 'store-down') void tell(event.type)
      if (event.type === 'source') void tell(event.event, event.detail)
    },
  }
  const { store } = config
  if ('mariadb' in store) return mariadbConsumer(settings, store)
  return 'redis' in store || store.strategy === 'lease'
    ? defineConsumer({
        ...settings,
        ...(config.onInDoubt === undefined ? {} : { onInDoubt: config.onInDoubt }),
        id: ({ payload }) => payload.id,
        store: mortal(leaseOf(store)),
        handle: ({ payload, attempt }) => act(payload, attempt, async () => {}),
      })
    : defineConsumer<WorkerMessage, WorkerMessage, PgTransaction>({
        ...settings,
        ...(store.strategy === 'offsets' ? {} : { id: ({ payload }) => payload.id }),
        store: mortal(postgresOf(store)),
        handle: ({ payload, attempt, tx }) =>
          act(payload, attempt, () => tx.query('insert into effect (name) values ($1)', [payload.id])),
      })
}

function mariadbConsumer(
  settings: Settings,
  { mariadb, strategy }: Extract<WorkerSettings['store'], { mariadb: string }>,
): Consumer {
  const pool = createPool({ uri: mariadb, connectionLimit: 6 })
  if (strategy === 'lease') {
    const store = mortal(mysqlLease({ pool }))
    return defineConsumer({
      ...settings,
      id: ({ payload }) => payload.id,
      store,
      handle: ({ payload, attempt }) => act(payload, attempt, async () => {}),
    })
  }
  return defineConsumer<WorkerMessage, WorkerMessage, MysqlTransaction>({
    ...settings,
    id: ({ payload }) => payload.id,
    store: mortal(mysqlInbox({ pool })),
    handle: ({ payload, attempt, tx }) =>
      act(payload, attempt, () => tx.query('insert into effect (name) values (?)', [payload.id])),
  })
}

async function act({ id, does }: WorkerMessage, attempt: number, apply: () => Promise<unknown>): Promise<void> {
  await tell('started', `${id} ${attempt}`)
  if (does === 'kill') await die()
  if (does === 'fail' || (does === 'fail once' && attempt === 1)) throw new Error('as it was told to')
  if (does === 'wait') await letGo
  if (does === 'linger') await sleep(100)
  await apply()
  await tell('effect', id)
}

/** A store that is a place to die at. The process is dead before it could answer, or after. */
function mortal<Tx>(store: Store<Tx>): Store<Tx> {
  return withCalls(store, {
    claim: async (request) => {
      const answers = await store.claim(request)
      await dieAt('before the handler')
      return answers
    },
    release: async (claims, how) => {
      const verdicts = await store.release(claims, how)
      await dieAt('after the release')
      return verdicts
    },
    mark: async (claims) => {
      await dieAt('before the mark')
      const verdicts = await store.mark(claims)
      await dieAt('after the mark')
      return verdicts
    },
    setAside: async (claims, as, why) => {
      await dieAt('before the set-aside')
      const verdicts = await store.setAside(claims, as, why)
      await dieAt('after the set-aside')
      return verdicts
    },
  })
}

function mortalPublisher(publisher: Publisher): Publisher {
  return {
    deadLetter: async (letter) => {
      await publisher.deadLetter(letter)
      await dieAt('after the dead letter')
    },
    retryDelayMs: (attempts) => publisher.retryDelayMs?.(attempts),
    busyWaitMs: publisher.busyWaitMs,
    ...(publisher.retryLater && {
      retryLater: async (letter: RetryCopy) => {
        await publisher.retryLater?.(letter)
        await dieAt('after the copy')
      },
    }),
  }
}

async function dieAt(point: CrashPoint): Promise<void> {
  if (config.dieAt === point) await die()
}

async function die(): Promise<never> {
  await tell('dies')
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

/** Resolves when it is on its way: what was told before the process kills itself arrives. */
function tell(what: string, about = ''): Promise<void> {
  return new Promise((resolve) => {
    process.send?.({ what, about } satisfies WorkerEvent, () => resolve())
  })
}

type RedisSettings = Extract<WorkerSettings['store'], { redis: string }>
type PostgresSettings = Extract<WorkerSettings['store'], { postgres: string }>

function leaseOf(store: PostgresSettings | RedisSettings): Store {
  return 'redis' in store
    ? redisLease({ redis: new Redis(store.redis), prefix: store.prefix })
    : postgresLease({ pool: poolOf(store), schema: store.schema })
}

function poolOf({ postgres, schema }: PostgresSettings): Pool {
  return new Pool({ connectionString: postgres, max: 6, options: `-c search_path=${schema}` })
}

function postgresOf(store: PostgresSettings): Store<PgTransaction> {
  const { schema, strategy } = store
  const pool = poolOf(store)
  return strategy === 'offsets' ? postgresOffsets({ pool, schema }) : postgresInbox({ pool, schema })
}

function idOf({ value }: Message): string {
  return (JSON.parse(Buffer.from(value ?? '').toString()) as WorkerMessage).id
}
