import { ConfigError, knownOptions, type Migrations, type MigrationStatus } from '../../../src/spi.ts'
import { answered } from '../../sql/errors.ts'
import { checkServer } from '../check-server.ts'
import type { MysqlPoolLike } from '../clients.ts'
import { databaseProblems, resolveMysql } from '../options.ts'
import { MysqlSessions } from '../sessions/sessions.ts'
import { ERRORS, errnoOf, NO_SUCH_TABLE } from '../sql-errors.ts'
import { lastRows } from '../statements/script.ts'
import { tablesIn, type Tables } from '../statements/tables.ts'
import { COMMIT } from '../statements/transaction.ts'
import { foreignEngines } from './check-engines.ts'
import { missingKeys } from './check-keys.ts'
import { migrate } from './migrate.ts'
import { readMigrations, type RunRow } from './migration-table.ts'
import { MIGRATIONS, migrationScript } from './migrations.ts'

export type MysqlMigrationsOptions = {
  /**
   * As for `mysqlInbox`.
   * @defaultValue the database of the pool's connections, or of the URL
   */
  readonly database?: string
} & (
  | {
      /** A pool of `mysql2/promise` with a `connectionLimit` of at least 2. You close it. */
      readonly pool: MysqlPoolLike
      readonly url?: never
    }
  | {
      /** `mysql://…`, with a user who may create tables. Each call opens its own connections with `mysql2`, and closes them. */
      readonly url: string
      readonly pool?: never
    }
)

/** Long limits: a migration may have to build a table. */
const LIMITS = { lockTimeoutMs: 5_000, queryTimeoutMs: 600_000 }

/**
 * The tables of all stores on MariaDB or MySQL, for `consume-once migrate` or a deployment of your own. A dry run only tells what is pending:
 * these servers cannot roll back DDL. For the same reason `status` compares keys and engines of the tables, not their columns.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function mysqlMigrations(options: MysqlMigrationsOptions): Migrations {
  const known = { pool: true, url: true, database: true }
  const given = knownOptions(options, { of: 'mysqlMigrations()', known })
  const { pool, url } = given
  if ((pool === undefined) === (url === undefined)) {
    throw new ConfigError(['mysqlMigrations: expected pool or url, and not both'])
  }
  const database = given.database ?? (pool === undefined ? databaseIn(url) : databaseOf(pool))
  const problems = databaseProblems(database)
  if (database === undefined || problems.length > 0) {
    throw new ConfigError(problems.map((problem) => `mysqlMigrations: ${problem}`))
  }
  const tables = tablesIn(database)
  const ask = <T>(question: (sessions: MysqlSessions) => Promise<T>): Promise<T> =>
    answered(ERRORS, 'migrations', async () => {
      if (pool !== undefined) return question(await sessionsOn(pool, database))
      const own = await openPool(url)
      try {
        return await question(await sessionsOn(own, database))
      } finally {
        await own.end()
      }
    })
  const made: Migrations = {
    where: `MariaDB or MySQL, database ${database}`,
    as: (other) => (isMysqlUrl(other) ? mysqlMigrations({ url: other, database }) : made),
    status: () => ask((sessions) => statusOf(sessions, tables)),
    up: async (how) => {
      const { isDryRun = false } = knownOptions(how, { of: 'up()', known: { isDryRun: true } })
      return ask((sessions) => bringUp(sessions, tables, isDryRun))
    },
    print: () => migrationScript(tables),
  }
  return made
}

function isMysqlUrl(url: string): boolean {
  return /^(?:mysql|mariadb):/.test(url)
}

function databaseIn(url: string): string | undefined {
  const name = URL.canParse(url) ? decodeURIComponent(new URL(url).pathname.slice(1)) : ''
  return name === '' ? undefined : name
}

function databaseOf({ pool }: MysqlPoolLike): string | undefined {
  return pool.config.connectionConfig?.database
}

async function sessionsOn(given: MysqlPoolLike, database: string): Promise<MysqlSessions> {
  const { pool, max, limits } = resolveMysql({ pool: given, database, ...LIMITS }, 'mysqlMigrations')
  const sessions = new MysqlSessions(pool, max, limits)
  await checkServer(sessions)
  return sessions
}

async function openPool(url: string): Promise<MysqlPoolLike & { end(): Promise<void> }> {
  try {
    const { createPool } = await import('mysql2/promise')
    return createPool({ uri: url, connectionLimit: 2 })
  } catch (cause) {
    const problem = 'mysql2 is not installed: run `npm install mysql2`, or give a pool'
    throw new ConfigError([problem], 'CONFIG_INVALID', { cause })
  }
}

async function bringUp(sessions: MysqlSessions, tables: Tables, isDryRun: boolean): Promise<readonly string[]> {
  const before = await runIn(sessions, tables)
  const pending = MIGRATIONS.filter(({ version }) => before.every((row) => row.version !== version))
  if (!isDryRun) await migrate(sessions, tables, 'auto')
  return pending.map(titleOf)
}

async function statusOf(sessions: MysqlSessions, tables: Tables): Promise<MigrationStatus> {
  const rows = await runIn(sessions, tables)
  const pending = MIGRATIONS.filter(({ version }) => rows.every((row) => row.version !== version))
  const status = { run: rows.map(titleOf), pending: pending.map(titleOf) }
  const drift = rows.flatMap(strange)
  if (rows.length === 0 || drift.length > 0) return { ...status, drift }
  // A table of a pending migration is not missing yet.
  const keys = (await missingKeys(sessions, tables.database)).filter(({ isThere }) => isThere || pending.length === 0)
  const engines = await foreignEngines(sessions, tables.database)
  return {
    ...status,
    drift: [...keys.map(({ explained }) => explained), ...engines],
    unknown: 'columns were not compared: this server cannot undo DDL',
  }
}

async function runIn(sessions: MysqlSessions, tables: Tables): Promise<readonly RunRow[]> {
  const ask = sessions.using((connection) => connection.run([readMigrations(tables), COMMIT], false))
  const sets = await ask.catch((error: unknown) => {
    if (errnoOf(error) === NO_SUCH_TABLE) return []
    throw error
  })
  const rows = lastRows(sets) as readonly Readonly<Record<keyof RunRow, unknown>>[]
  return rows.map(({ version, name, breaking }) => ({
    version: Number(version),
    name: String(name),
    breaking: Number(breaking) === 1,
  }))
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
