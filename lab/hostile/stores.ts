import { withDoneCache } from '../../adapters/lru-cache/index.ts'
import { mysqlInbox } from '../../adapters/mysql2/index.ts'
import { pgliteInbox, pgliteLease } from '../../adapters/pg/index.ts'
import { type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { mysqlLeaseHarness } from '../../test/mysql/lease-harness.ts'
import { newMysqlPlace } from '../../test/mysql/support.ts'
import { pgLeaseHarness } from '../../test/pg/lease-harness.ts'
import { newPlace } from '../../test/pg/support.ts'
import { newPglite } from '../pg/pglite-support.ts'
import { LIBRARIES } from '../../test/redis/clients.ts'
import { redisHarness } from '../../test/redis/harness.ts'
import type { Backend } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server } from '../../test/kit/servers/server.ts'

/** A store that is not opened yet, for one run of the corpus. */
export interface OpenedStore {
  readonly store: Store<unknown>
  /** An effect in the transaction, where there is one. */
  readonly write?: (tx: unknown, effect: string) => Promise<unknown>
  /** Effects that are committed. */
  readonly committed?: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

export interface HostileStore {
  readonly name: string
  readonly backend: Backend
  readonly open: () => Promise<OpenedStore>
}

const lease = (store: Store, close: () => Promise<void> = async () => {}): OpenedStore => ({
  store: store,
  close,
})

async function onPostgres(strategy: 'newInbox' | 'newOffsets'): Promise<OpenedStore> {
  const place = await newPlace()
  return {
    store: await place[strategy](),
    write: (tx, effect) => place.write(tx as never, effect),
    committed: async () => {
      const { rows } = await place.pool.query<{ name: string }>(`select name from ${place.schema}.effect`)
      return rows.map(({ name }) => name)
    },
    close: place.close,
  }
}

export const MEMORY: HostileStore = { name: 'memoryStore', backend: 'memory', open: async () => lease(memoryStore()) }

export const POSTGRES_INBOX: HostileStore = {
  name: 'postgresInbox',
  backend: 'postgres',
  open: () => onPostgres('newInbox'),
}

/** Where positions are known: on Kafka. */
export const POSTGRES_OFFSETS: HostileStore = {
  name: 'postgresOffsets',
  backend: 'postgres',
  open: () => onPostgres('newOffsets'),
}

const REDIS: readonly HostileStore[] = LIBRARIES.map((library) => ({
  name: `redisLease by ${library.name}`,
  backend: 'redis',
  open: async () => {
    const { store, close } = await redisHarness((await server('redis')).url, { library })
    return lease(store, close)
  },
}))

/** All that keep records of messages. */
export const STORES: readonly HostileStore[] = [
  MEMORY,
  {
    name: 'pgliteInbox',
    backend: 'pglite',
    open: async () => {
      const [db, schema] = [await newPglite(), uniqueName('inbox')]
      const store = pgliteInbox({ pglite: db, schema })
      await store.open()
      await db.query(`create table ${schema}.effect (name text not null)`)
      return {
        store: store,
        write: (tx, effect) => (tx as typeof db).query(`insert into ${schema}.effect (name) values ($1)`, [effect]),
        committed: async () =>
          (await db.query<{ name: string }>(`select name from ${schema}.effect`)).rows.map(({ name }) => name),
        close: () => db.close(),
      }
    },
  },
  {
    name: 'pgliteLease',
    backend: 'pglite',
    open: async () => {
      const db = await newPglite()
      return lease(pgliteLease({ pglite: db, schema: uniqueName('lease') }), () => db.close())
    },
  },
  ...REDIS,
  POSTGRES_INBOX,
  {
    name: 'postgresLease',
    backend: 'postgres',
    open: async () => {
      const { store, close } = await pgLeaseHarness()
      return lease(store, close)
    },
  },
  {
    name: 'mysqlInbox',
    backend: 'mariadb',
    open: async () => {
      const place = await newMysqlPlace()
      return {
        store: mysqlInbox({ pool: place.newPool() }),
        write: (tx, effect) => place.write(tx as never, effect),
        committed: async () => (await place.rows('select name from effect')).map(({ name }) => String(name)),
        close: place.close,
      }
    },
  },
  {
    name: 'mysqlLease',
    backend: 'mariadb',
    open: async () => {
      const { store, close } = await mysqlLeaseHarness()
      return lease(store, close)
    },
  },
  ...REDIS.slice(0, 1).map((redis) => ({
    name: `withDoneCache over ${redis.name}`,
    backend: redis.backend,
    open: async () => {
      const { store, ...rest } = await redis.open()
      return { ...rest, store: withDoneCache(store, { maxKeys: 10_000 }) }
    },
  })),
  {
    name: 'withDoneCache over postgresInbox',
    backend: 'postgres',
    open: async () => {
      const { store, ...rest } = await POSTGRES_INBOX.open()
      return { ...rest, store: withDoneCache(store, { maxKeys: 10_000 }) }
    },
  },
]

export const REDIS_BY_IOREDIS: HostileStore = REDIS[0] as HostileStore
