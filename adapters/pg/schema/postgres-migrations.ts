import { optionsOf, type Migrations, type Table } from '../../../src/internal.ts'
import { explainKey } from '../../sql/schema/keys.ts'
import { checkPoolOrUrl, isMysqlUrl, migrationsOf, notInstalled, usingPool } from '../../sql/schema/migrations.ts'
import { URL_OF_DATABASE } from '../../sql/options.ts'
import { checkServer } from '../check-server.ts'
import type { PoolLike } from '../clients.ts'
import { sessionsOn } from '../database.ts'
import { OFFSETS, POOL, poolOptions, SCHEMA, type PostgresMigrationsOptions } from '../options.ts'
import { tablesIn } from '../statements/tables.ts'
import { ERRORS, sqlState } from '../sql-errors.ts'
import { findMissingKeys } from './find-keys.ts'
import { migrate, rehearse, schemaOf } from './migrate.ts'
import { migrationScript } from './migrations.ts'
import { schemaDrift } from './schema-drift.ts'

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
        (one) => work(sessionsOn(poolOptions('postgresMigrations', OFFSETS, { pool: one, ...LIMITS }))),
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

async function openPool(url: string | undefined): Promise<PoolLike & { end(): Promise<void> }> {
  try {
    const { default: pg } = await import('pg')
    return new pg.Pool({ connectionString: url, max: 2 })
  } catch (cause) {
    throw notInstalled('pg', cause)
  }
}
