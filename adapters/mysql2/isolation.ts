import { ConfigError } from '../../src/spi.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import { lastRows } from './statements/script.ts'

interface VariableRow {
  readonly Value: string
}

/** MariaDB before 11.1 has one of these variables, MySQL the other. */
const READ_ISOLATION = `show session variables where variable_name in ('tx_isolation', 'transaction_isolation')`

/** The isolation level of a pool's sessions, such as `REPEATABLE-READ`. */
export async function isolationOf(sessions: MysqlSessions): Promise<string> {
  const sets = await sessions.using((connection) => connection.run([READ_ISOLATION], false))
  return (lastRows(sets) as readonly VariableRow[])[0]?.Value ?? 'unknown'
}

/**
 * Transactions of handlers use READ COMMITTED: at other levels claims lock the gaps between their keys, and block and
 * deadlock each other. Compared with REPEATABLE READ, the default of the server, handlers only lose that a second read
 * of a row returns the same. SERIALIZABLE was chosen explicitly, so it must not be weakened silently.
 *
 * @throws ConfigError `CONFIG_INVALID` for a pool whose sessions use SERIALIZABLE
 */
export async function refuseSerializable(sessions: MysqlSessions): Promise<void> {
  const level = await isolationOf(sessions)
  if (level !== 'SERIALIZABLE') return
  throw new ConfigError([
    'transaction isolation: expected READ COMMITTED or REPEATABLE READ, got SERIALIZABLE, which transactions of handlers ' +
      'do not have: they are READ COMMITTED. Set another level for the sessions of this pool, and lock what handlers read ' +
      'and then write (select ... for update)',
  ])
}
