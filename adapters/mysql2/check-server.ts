import { ConfigError } from '../../src/internal.ts'
import type { PooledConnection } from './sessions/pooled-connection.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import { lastRows } from './statements/script.ts'
import { COMMIT, IDLE_LIMITS, type IdleLimit } from './statements/transaction.ts'

interface ServerRow {
  readonly version: string
  readonly sql_mode: string
  readonly is_read_only: string | number
}

interface VariableRow {
  readonly Variable_name: string
  readonly Value: string
}

/** MariaDB before 10.3 and MySQL before 8.0 are out of support, and the library was not tested with them. */
const OLDEST = { mariadb: [10, 3], mysql: [8, 0] } as const

/** Facts of a server, and of the sessions that a pool has on it. */
export interface Server {
  readonly kind: 'mariadb' | 'mysql'
  readonly version: string
  readonly isReadOnly: boolean
  readonly sqlMode: string
  /** Such as `REPEATABLE-READ`. */
  readonly isolation: string
  /** Idle limits that sessions have, in seconds. */
  readonly idle: ReadonlyMap<IdleLimit, number>
  /** How long a statement of a session may take; 0: as long as it likes. MySQL limits only what reads. */
  readonly statementMs: number
}

const READ_SERVER = `select version() as version, @@session.sql_mode as sql_mode, if(@@global.read_only in ('0', 'OFF'), 0, 1) as is_read_only`

/** MariaDB before 11.1 has one of the variables of isolation, MySQL the other; only MariaDB has idle limits. */
const READ_VARIABLES = `show session variables where variable_name in ('tx_isolation', 'transaction_isolation', 'max_statement_time', 'max_execution_time', ${IDLE_LIMITS.map((name) => `'${name}'`).join(', ')})`

export function readServer(sessions: MysqlSessions): Promise<Server> {
  return sessions.settled(ask, (server) => isStrict(server) && !isSerializable(server))
}

async function ask(connection: PooledConnection): Promise<Server> {
  const [row] = lastRows(await connection.run([READ_SERVER], false)) as readonly ServerRow[]
  const sets = await connection.run([READ_VARIABLES, COMMIT], false)
  const variables = new Map((lastRows(sets) as readonly VariableRow[]).map((one) => [one.Variable_name, one.Value]))
  if (row === undefined) throw new TypeError('a SELECT without a row (check-server)')
  const limits = IDLE_LIMITS.map((name) => [name, Number(variables.get(name) ?? 0)] as const)
  return {
    kind: /mariadb/i.test(row.version) ? 'mariadb' : 'mysql',
    version: row.version,
    isReadOnly: Number(row.is_read_only) !== 0,
    sqlMode: row.sql_mode,
    isolation: variables.get('transaction_isolation') ?? variables.get('tx_isolation') ?? 'unknown',
    statementMs:
      Number(variables.get('max_statement_time') ?? 0) * 1_000 || Number(variables.get('max_execution_time') ?? 0),
    idle: new Map(limits.filter(([, seconds]) => seconds > 0)),
  }
}

export function isStrict({ sqlMode }: Pick<Server, 'sqlMode'>): boolean {
  return /STRICT_(?:TRANS|ALL)_TABLES|TRADITIONAL/.test(sqlMode)
}

/**
 * Transactions of handlers use READ COMMITTED: at other levels claims lock the gaps between their keys, and block and
 * deadlock each other. Compared with REPEATABLE READ, the default of the server, handlers only lose that a second read
 * of a row returns the same. SERIALIZABLE was chosen explicitly, so it must not be weakened silently.
 */
export function isSerializable({ isolation }: Pick<Server, 'isolation'>): boolean {
  return isolation === 'SERIALIZABLE'
}

/**
 * @throws ConfigError `CONFIG_INVALID` for a read-only server, one that is too old, or one that truncates long values;
 * and with an inbox for a pool whose sessions use SERIALIZABLE
 */
export async function checkServer(sessions: MysqlSessions, strategy?: 'inbox' | 'lease'): Promise<Server> {
  const server = await readServer(sessions)
  const problems: string[] = []
  if (server.isReadOnly) problems.push('expected the primary, got a server with read_only = on (a replica)')
  if (!isStrict(server)) {
    const text =
      "expected STRICT_TRANS_TABLES in it, or the server cuts what handlers write where it is too long, got '"
    problems.push(`sql_mode: ${text}${server.sqlMode}'`)
  }
  if (isOlder(server.version, OLDEST[server.kind])) {
    problems.push(`expected MariaDB 10.3 or MySQL 8.0 or newer, got ${server.version}`)
  }
  if (strategy === 'inbox' && isSerializable(server)) {
    problems.push(
      'transaction isolation: expected READ COMMITTED or REPEATABLE READ, got SERIALIZABLE, which transactions of handlers ' +
        'do not have: they are READ COMMITTED. Set another level for the sessions of this pool, and lock what handlers read ' +
        'and then write (select ... for update)',
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return server
}

function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ours = 0, second = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return ours < major || (ours === major && second < minor)
}
