import { optionsOf, type Migrations, type Table } from '../../../src/internal.ts'
import { explainKey } from '../../sql/schema/keys.ts'
import { checkPoolOrUrl, isMysqlUrl, migrationsOf, notInstalled, usingPool } from '../../sql/schema/migrations.ts'
import { URL_OF_DATABASE } from '../../sql/options.ts'
import { checkServer } from '../check-server.ts'
import type { PoolLike } from '../clients.ts'
import { OFFSETS, POOL, resolvePostgres, SCHEMA } from '../options.ts'
import { tablesIn } from '../statements/tables.ts'
import { PoolSessions } from '../sessions/pool-sessions.ts'
import type { PgSessions } from '../sessions/session.ts'
import { ERRORS, sqlState } from '../sql-errors.ts'
import { findMissingKeys } from './find-keys.ts'
import { migrate, rehearse, schemaOf } from './migrate.ts'
import { migrationScript } from './migrations.ts'
import { schemaDrift } from './schema-drift.ts'

export type PostgresMigrationsOptions = {
  /**
   * As for `postgresInbox`.
   * @defaultValue `consume_once`
   */
  readonly schema?: string
} & (
  | {
      /** A `Pool` of `pg` with `max` of at least 2. You close it. */
      readonly pool: PoolLike
      readonly url?: never
    }
  | {
      /**
       * URL of the database, with a role that may create tables. Each call opens its own connections with `pg`, and
       * closes them.
       */
      readonly url: string
      readonly pool?: never
    }
)

const MIGRATIONS: Table<PostgresMigrationsOptions, 'pool' | 'url'> = {
  schema: SCHEMA,
  pool: POOL,
  url: URL_OF_DATABASE,
}

/** Long limits: a migration may have to wait for a lock and to build a table. */
const LIMITS = { lockTimeoutMs: 5_000, queryTimeoutMs: 600_000 }
const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * The schema of all stores on Postgres, for `consume-once migrate` or a deployment of your own.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function postgresMigrations(options: PostgresMigrationsOptions): Migrations {
  const given = optionsOf('postgresMigrations', MIGRATIONS, options)
  const { pool, url, schema } = given
  const tables = tablesIn(schema)
  checkPoolOrUrl('postgresMigrations', given)
  const made: Migrations = migrationsOf({
    schema: schemaOf(tables),
    where: `Postgres, schema ${tables.schema}`,
    as: (other) => (isMysqlUrl(other) ? made : postgresMigrations({ url: other, schema })),
    errors: ERRORS,
    using: (work) =>
      usingPool(
        pool,
        () => openPool(url),
        (one) => work(sessionsOn(one)),
      ),
    up: async (sessions) => {
      await checkServer(sessions)
      await migrate(sessions, tables, 'auto')
    },
    rehearse: async (sessions) => {
      await checkServer(sessions)
      await rehearse(sessions, tables)
    },
    drift: async (sessions, rows, isPending) => {
      try {
        return { drift: await schemaDrift(sessions, tables, rows) }
      } catch (error) {
        if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
        const missing = isPending ? [] : await sessions.committed(findMissingKeys(tables))
        const drift = missing.map((key) => `table ${tables.schema}.${explainKey(key)}`)
        return { drift, unknown: 'this role may not create a schema to compare the tables with' }
      }
    },
    print: () => migrationScript(tables),
  })
  return made
}

function sessionsOn(given: PoolLike): PgSessions {
  const { pool, transactions, limits } = resolvePostgres('postgresMigrations', OFFSETS, {
    pool: given,
    ...LIMITS,
  }).resolved
  return new PoolSessions(pool, transactions, limits, 'at-once')
}

async function openPool(url: string | undefined): Promise<PoolLike & { end(): Promise<void> }> {
  try {
    const { default: pg } = await import('pg')
    return new pg.Pool({ connectionString: url, max: 2 })
  } catch (cause) {
    throw notInstalled('pg', cause)
  }
}
