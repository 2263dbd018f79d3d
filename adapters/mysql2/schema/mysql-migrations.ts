import { optionsOf, refuse, type Migrations, type Table } from '../../../src/internal.ts'
import { explainKey } from '../../sql/schema/keys.ts'
import {
  bringUp,
  checkPoolOrUrl,
  isMysqlUrl,
  migrationsOf,
  notInstalled,
  usingPool,
} from '../../sql/schema/migrations.ts'
import { URL_OF_DATABASE } from '../../sql/options.ts'
import { checkServer } from '../check-server.ts'
import type { MysqlPoolLike } from '../clients.ts'
import { sessionsOn } from '../database.ts'
import { DATABASE, POOL, poolOptions } from '../options.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { ERRORS } from '../sql-errors.ts'
import { tablesIn } from '../statements/tables.ts'
import { foreignEngines } from './check-engines.ts'
import { missingKeys } from './check-keys.ts'
import { schemaOf } from './migrate.ts'
import { migrationScript } from './migrations.ts'

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

const MIGRATIONS: Table<MysqlMigrationsOptions, 'pool' | 'url' | 'database'> = {
  pool: POOL,
  url: URL_OF_DATABASE,
  database: DATABASE,
}

/** Long limits: a migration may have to build a table. */
const LIMITS = { lockTimeoutMs: 5_000, queryTimeoutMs: 600_000 }

/**
 * The tables of all stores on MariaDB or MySQL, for `consume-once migrate` or a deployment of your own. A dry run only tells what is pending:
 * these servers cannot roll back DDL. For the same reason `status` compares keys and engines of the tables, not their columns.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function mysqlMigrations(options: MysqlMigrationsOptions): Migrations {
  const given = optionsOf('mysqlMigrations', MIGRATIONS, options)
  const { pool, url } = given
  checkPoolOrUrl('mysqlMigrations', given)
  const database = given.database ?? (pool === undefined ? databaseIn(url) : databaseOf(pool))
  const problems: string[] = []
  DATABASE.read(database, { name: 'database', problems })
  refuse('mysqlMigrations', problems)
  if (database === undefined) throw new TypeError('no database (mysql-migrations)')
  const tables = tablesIn(database)
  const schema = schemaOf(tables)
  const made: Migrations = migrationsOf({
    schema,
    where: `MariaDB or MySQL, database ${database}`,
    as: (other) => (isMysqlUrl(other) ? mysqlMigrations({ url: other, database }) : made),
    errors: ERRORS,
    using: (work) =>
      usingPool(
        pool,
        () => openPool(url),
        async (one) => work(await checkedSessions(one, database)),
      ),
    up: (sessions) => bringUp(schema, sessions, 'auto'),
    rehearse: undefined,
    drift: async (sessions, _, isPending) => {
      // A table of a pending migration is not missing yet.
      const keys = (await missingKeys(sessions, database)).filter(({ isThere }) => isThere || !isPending)
      const drift = [...keys.map(explainKey), ...(await foreignEngines(sessions, database))]
      return { drift, unknown: 'columns were not compared: this server cannot undo DDL' }
    },
    print: () => migrationScript(tables),
  })
  return made
}

function databaseIn(url = ''): string | undefined {
  const name = URL.canParse(url) ? decodeURIComponent(new URL(url).pathname.slice(1)) : ''
  return name === '' ? undefined : name
}

function databaseOf({ pool }: MysqlPoolLike): string | undefined {
  return pool.config.connectionConfig?.database
}

async function checkedSessions(given: MysqlPoolLike, database: string): Promise<MysqlSessions> {
  const sessions = sessionsOn(poolOptions({ pool: given, database, ...LIMITS }, 'mysqlMigrations'))
  await checkServer(sessions)
  return sessions
}

async function openPool(uri: string | undefined): Promise<MysqlPoolLike & { end(): Promise<void> }> {
  try {
    const { createPool } = await import('mysql2/promise')
    return createPool({ ...(uri !== undefined && { uri }), connectionLimit: 2 })
  } catch (cause) {
    throw notInstalled('mysql2', cause)
  }
}
