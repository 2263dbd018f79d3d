import { ConfigError, knownOptions, type Migrations, type MigrationStatus } from '../../../src/spi.ts'
import { answered } from '../../sql/errors.ts'
import { ERRORS } from '../sql-errors.ts'
import { missingKeys } from './check-keys.ts'
import { checkServer } from '../check-server.ts'
import type { PoolLike } from '../clients.ts'
import { find, migrate, rehearse } from './migrate.ts'
import { MIGRATIONS, migrationScript } from './migrations.ts'
import { resolvePostgres, resolveTables } from '../options.ts'
import { PoolSessions } from '../sessions/pool-sessions.ts'
import { schemaDrift } from './schema-drift.ts'
import type { PgSessions } from '../sessions/session.ts'
import { sqlState } from '../sql-errors.ts'
import { readMigrations, type RunRow } from './migration-table.ts'
import type { Tables } from '../statements/tables.ts'

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

/** Long limits: a migration may have to wait for a lock and to build a table. */
const LIMITS = { lockTimeoutMs: 5_000, queryTimeoutMs: 600_000 }
const INSUFFICIENT_PRIVILEGE = '42501'

/**
 * The schema of all stores on Postgres, for `consume-once migrate` or a deployment of your own.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function postgresMigrations(options: PostgresMigrationsOptions): Migrations {
  const given = knownOptions(options, { of: 'postgresMigrations()', known: { schema: true, pool: true, url: true } })
  const { pool, url, schema } = given
  const tables = resolveTables(schema)
  if ((pool === undefined) === (url === undefined)) {
    throw new ConfigError(['postgresMigrations: expected pool or url, and not both'])
  }
  const ask = <T>(question: (sessions: PgSessions) => Promise<T>): Promise<T> =>
    answered(ERRORS, 'migrations', async () => {
      if (pool !== undefined) return question(sessionsOn(pool))
      const own = await openPool(url)
      try {
        return await question(sessionsOn(own))
      } finally {
        await own.end()
      }
    })
  const made: Migrations = {
    where: `Postgres, schema ${tables.schema}`,
    as: (other) =>
      /^(?:mysql|mariadb):/.test(other)
        ? made
        : postgresMigrations({ url: other, ...(schema === undefined ? {} : { schema }) }),
    status: () => ask((sessions) => statusOf(sessions, tables)),
    up: async (how) => {
      const { isDryRun = false } = knownOptions(how, { of: 'up()', known: { isDryRun: true } })
      return ask((sessions) => bringUp(sessions, tables, isDryRun))
    },
    print: () => migrationScript(tables),
  }
  return made
}

function sessionsOn(given: PoolLike): PgSessions {
  const { pool, transactions, limits } = resolvePostgres({ pool: given, ...LIMITS }, 'postgresMigrations')
  return new PoolSessions(pool, transactions, limits, 'at-once')
}

async function openPool(url: string): Promise<PoolLike & { end(): Promise<void> }> {
  try {
    const { default: pg } = await import('pg')
    return new pg.Pool({ connectionString: url, max: 2 })
  } catch (cause) {
    throw new ConfigError(['pg is not installed: run `npm install pg`, or give a pool'], 'CONFIG_INVALID', { cause })
  }
}

async function bringUp(sessions: PgSessions, tables: Tables, isDryRun: boolean): Promise<readonly string[]> {
  await checkServer(sessions)
  if (isDryRun) return (await rehearse(sessions, tables)).map(titleOf)
  const before = await runIn(sessions, tables)
  await migrate(sessions, tables, 'auto')
  const after = await runIn(sessions, tables)
  return after.filter(({ version }) => before.every((row) => row.version !== version)).map(titleOf)
}

async function statusOf(sessions: PgSessions, tables: Tables): Promise<MigrationStatus> {
  const rows = await runIn(sessions, tables)
  const pending = MIGRATIONS.filter(({ version }) => rows.every((row) => row.version !== version))
  const drift = rows.flatMap((row) => strange(row))
  const status = { run: rows.map(titleOf), pending: pending.map(titleOf) }
  // Without knowing all migrations that ran, the expected schema is unknown.
  if (rows.length === 0 || drift.length > 0) return { ...status, drift }
  try {
    return { ...status, drift: await schemaDrift(sessions, tables, rows) }
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
    const missing = pending.length === 0 ? await missingKeys(sessions, tables) : []
    return { ...status, drift: missing, unknown: 'this role may not create a schema to compare the tables with' }
  }
}

async function runIn(sessions: PgSessions, tables: Tables): Promise<readonly RunRow[]> {
  const { migration } = await find({ run: sessions.committed.bind(sessions) }, tables)
  return migration === null ? [] : sessions.committed(readMigrations(tables))
}

function strange({ version, name, breaking }: RunRow): string[] {
  const known = MIGRATIONS.find((migration) => migration.version === version)
  if (known === undefined) {
    const consequence = breaking ? ', and this code must not run on it: update consume-once' : ''
    return [`migration ${version} ${name}: not known to this code${consequence}`]
  }
  return known.name === name ? [] : [`migration ${version}: expected ${known.name}, got ${name}`]
}

function titleOf({ version, name }: Pick<RunRow, 'version' | 'name'>): string {
  return `${version} ${name}`
}
