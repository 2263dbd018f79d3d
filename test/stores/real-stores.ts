import { mysqlInbox } from '../../adapters/mysql2/index.ts'
import type { Store } from '../../src/index.ts'
import { mysqlLeaseHarness } from '../mysql/lease-harness.ts'
import { newMysqlPlace, type MysqlPlace } from '../mysql/support.ts'
import { pgLeaseHarness } from '../pg/lease-harness.ts'
import { newPlace, type PgPlace } from '../pg/support.ts'
import { redisHarness } from '../redis/harness.ts'
import { backends } from '../kit/backends.ts'
import { server } from '../kit/servers/server.ts'

/** A store on data of its own, and all that its server holds of it. */
export interface RealStore {
  readonly store: Store
  /** Names and values, one a line; bytes in hex. */
  dump(): Promise<readonly string[]>
  close(): Promise<void>
}

const ALL: readonly (readonly [string, string, () => Promise<RealStore>])[] = [
  ['redisLease', 'redis', onRedis],
  ['postgresLease', 'postgres', onPostgresLease],
  ['postgresInbox', 'postgres', onPostgresInbox],
  ['mysqlLease', 'mariadb', onMariadbLease],
  ['mysqlInbox', 'mariadb', onMariadbInbox],
]

export const REAL_STORES: readonly (readonly [string, () => Promise<RealStore>])[] = ALL.filter(([, backend]) =>
  backends.has(backend as 'redis'),
).map(([name, , open]) => [name, open])

async function onRedis(): Promise<RealStore> {
  const { store, redis, prefix, close } = await redisHarness((await server('redis')).url)
  return {
    store,
    close,
    async dump() {
      const names = await redis.keys(`${prefix}:*`)
      const lines = names.map(async (name) => {
        if ((await redis.type(name)) !== 'stream') return [`${name} ${await redis.get(name)}`]
        return (await redis.xrange(name, '-', '+')).map(([, fields]) => `${name} ${JSON.stringify(fields)}`)
      })
      return (await Promise.all(lines)).flat()
    },
  }
}

async function onPostgresLease(): Promise<RealStore> {
  const { store, place, close } = await pgLeaseHarness()
  return { store, close, dump: () => rowsOfPostgres(place) }
}

/** The transaction is of no use to these tests: an inbox is a store like any other. */
async function onPostgresInbox(): Promise<RealStore> {
  const place = await newPlace()
  const store = (await place.newInbox()) as unknown as Store
  return { store, close: place.close, dump: () => rowsOfPostgres(place) }
}

async function rowsOfPostgres({ pool, schema }: PgPlace): Promise<readonly string[]> {
  const { rows: tables } = await pool.query('select tablename from pg_tables where schemaname = $1', [schema])
  const lines: string[] = []
  for (const { tablename } of tables as { tablename: string }[]) {
    const { rows } = await pool.query(`select row_to_json(t)::text as line from "${schema}"."${tablename}" t`)
    lines.push(...(rows as { line: string }[]).map(({ line }) => `${tablename} ${line}`))
  }
  return lines
}

async function onMariadbLease(): Promise<RealStore> {
  const { store, place, close } = await mysqlLeaseHarness()
  return { store, close, dump: () => rowsOfMariadb(place) }
}

async function onMariadbInbox(): Promise<RealStore> {
  const place = await newMysqlPlace()
  const store = mysqlInbox({ pool: place.newPool() })
  await store.open()
  return { store: store as unknown as Store, close: place.close, dump: () => rowsOfMariadb(place) }
}

async function rowsOfMariadb({ rows }: MysqlPlace): Promise<readonly string[]> {
  const lines: string[] = []
  for (const table of (await rows('show tables')).flatMap((row) => Object.values(row).map(String))) {
    for (const row of await rows(`select * from \`${table}\``)) {
      const shown = Object.values(row).map((value) => (value instanceof Buffer ? value.toString('hex') : value))
      lines.push(`${table} ${JSON.stringify(shown)}`)
    }
  }
  return lines
}
