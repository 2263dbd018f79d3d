import { ConfigError } from '../../src/spi.ts'
import { databaseProblems } from './options.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import { lastRows } from './statements/script.ts'

interface ServerRow {
  readonly version: string
  readonly sql_mode: string
  readonly is_read_only: string | number
  readonly database_name: string | null
}

/** MariaDB before 10.3 and MySQL before 8.0 are out of support, and the library was not tested with them. */
const OLDEST = { mariadb: [10, 3], mysql: [8, 0] } as const

export interface Server {
  readonly kind: 'mariadb' | 'mysql'
  /** The default database of the pool's connections. */
  readonly database: string
}

/**
 * Checks the server of a pool. `wanted`: the database of the tables, if given.
 *
 * @throws ConfigError `CONFIG_INVALID` for a read-only server, one that is too old, or one that truncates long values
 */
export async function checkServer(sessions: MysqlSessions, wanted: string | undefined): Promise<Server> {
  const sets = await sessions.using((connection) => connection.run([READ_SERVER], false))
  const [row] = lastRows(sets) as readonly ServerRow[]
  if (row === undefined) throw new TypeError('a SELECT without a row (check-server)')
  const kind = /mariadb/i.test(row.version) ? 'mariadb' : 'mysql'
  const database = wanted ?? row.database_name
  const problems: string[] = []
  if (Number(row.is_read_only) !== 0)
    problems.push('expected the primary, got a server with read_only = on (a replica)')
  if (!/STRICT_(?:TRANS|ALL)_TABLES|TRADITIONAL/.test(row.sql_mode)) {
    const text =
      "expected STRICT_TRANS_TABLES in it, or the server cuts what handlers write where it is too long, got '"
    problems.push(`sql_mode: ${text}${row.sql_mode}'`)
  }
  if (isOlder(row.version, OLDEST[kind])) {
    problems.push(`expected MariaDB 10.3 or MySQL 8.0 or newer, got ${row.version}`)
  }
  if (database === null) problems.push('database: expected a pool with a database, or the option, got neither')
  else problems.push(...databaseProblems(database))
  if (problems.length > 0) throw new ConfigError(problems)
  return { kind, database: database ?? '' }
}

const READ_SERVER = `select version() as version, @@session.sql_mode as sql_mode, if(@@global.read_only in ('0', 'OFF'), 0, 1) as is_read_only,
  database() as database_name`

function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ours = 0, second = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return ours < major || (ours === major && second < minor)
}
