import { mkdirSync } from 'node:fs'
import { type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { pgliteInbox, postgresInbox } from '../../adapters/pg/index.ts'
import { redisLease } from '../../adapters/redis/index.ts'
import { given, reached, serverUrl } from './failures.ts'
import { appendNdjson, readNdjson, type Effect } from './ledger.ts'
import type { DemoState } from './state.ts'

/** The store of a demo, and how its effects happen. */
export interface DemoStore {
  readonly store: Store<unknown>
  /** Where it is stored, for people. */
  readonly place: string
  /** The effect of one message, through the transaction if there is one. */
  readonly effect: (effect: Effect, tx: unknown) => Promise<unknown> | void
  /** Every effect of all runs on this state. */
  readonly effects: () => Promise<readonly Effect[]>
  readonly close: () => Promise<void>
}

export type StoreName = 'memory' | 'pglite' | 'postgres' | 'redis'

export const STORES: Readonly<Record<StoreName, (state: DemoState) => Promise<DemoStore>>> = {
  memory: async (state) => onLease(memoryStore(), state, 'records in memory, which are gone now', async () => {}),
  pglite: async (state) => {
    const [dir, schema] = [state.path('pglite'), state.namespace]
    mkdirSync(dir, { recursive: true })
    const { PGlite } = await given('--store pglite', () => import('@electric-sql/pglite'))
    const db = await PGlite.create(dir)
    return onInbox(schema, {
      store: pgliteInbox({ pglite: db, schema }),
      db,
      where: `PGlite, ${dir}`,
      close: () => db.close(),
    })
  },
  postgres: async ({ namespace: schema }) => {
    const connectionString = serverUrl('DATABASE_URL', 'postgres://postgres:postgres@127.0.0.1:5432/postgres')
    const { default: pg } = await given('--store postgres', () => import('pg'))
    const pool = new pg.Pool({ connectionString, max: 6, connectionTimeoutMillis: 5_000, query_timeout: 30_000 })
    pool.on('error', () => {})
    await reached(`Postgres at ${connectionString}`, 'DATABASE_URL', pool.query('select 1'))
    const store = postgresInbox({ pool, schema })
    return onInbox(schema, { store, db: pool, where: 'Postgres', close: () => pool.end() })
  },
  redis: async (state) => {
    const url = serverUrl('REDIS_URL', 'redis://127.0.0.1:6379')
    const { Redis } = await given('--store redis', () => import('ioredis'))
    const redis = new Redis(url, { lazyConnect: true, commandTimeout: 5_000, connectTimeout: 5_000 })
    redis.on('error', () => {})
    await reached(`Redis at ${url}`, 'REDIS_URL', redis.connect())
    const store = redisLease({ redis, prefix: state.namespace })
    return onLease(store, state, `records in Redis under ${state.namespace}:`, async () => redis.disconnect())
  },
}

interface Database {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

interface Inbox {
  readonly store: Store<Database>
  readonly db: Database
  readonly where: string
  readonly close: () => Promise<void>
}

/**
 * The effect is a row written through `ctx.tx`, so it commits with the mark or not at all. The table has no unique
 * constraint on the message, because that would hide double effects.
 */
async function onInbox(schema: string, { store, db, where, close }: Inbox): Promise<DemoStore> {
  await store.open()
  const table = `${schema}.effects`
  await db.query(`create table if not exists ${table} (effect text not null)`)
  return {
    store,
    place: `inbox and effects in ${where}, schema ${schema}`,
    effect: (effect, tx) =>
      (tx as Database).query(`insert into ${table} (effect) values ($1)`, [JSON.stringify(effect)]),
    effects: async () => {
      const { rows } = await db.query(`select effect from ${table}`)
      return (rows as { effect: string }[]).map(({ effect }) => JSON.parse(effect) as Effect)
    },
    close,
  }
}

/** Without a transaction the effect is a line in the file of a provider, before the mark. It deduplicates nothing. */
function onLease(store: Store<unknown>, state: DemoState, records: string, close: () => Promise<void>): DemoStore {
  const provider = state.path('provider.ndjson')
  return {
    store,
    place: `${records}; effects in ${provider}`,
    effect: (effect) => appendNdjson(provider, effect),
    effects: async () => readNdjson<Effect>(provider),
    close,
  }
}
