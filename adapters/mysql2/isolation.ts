import { ConfigError } from '../../src/index.ts'
import type { Sessions } from './sessions.ts'
import { lastRows } from './sql/script.ts'

interface VariableRow {
  readonly Value: string
}

/** MariaDB before 11.1 has one of them, MySQL the other. */
const READ_ISOLATION = `show session variables where variable_name in ('tx_isolation', 'transaction_isolation')`

/** What the sessions of a pool ask for, as `REPEATABLE-READ`. */
export async function isolationOf(sessions: Sessions): Promise<string> {
  const sets = await sessions.using((connection) => connection.run([READ_ISOLATION], false))
  return (lastRows(sets) as readonly VariableRow[])[0]?.Value ?? 'unknown'
}

/**
 * Transactions of handlers are at READ COMMITTED: at any other level claims lock the gaps between their keys, and block and
 * deadlock each other. Of REPEATABLE READ, the default of the server, handlers only lose that a row which is read twice is the same.
 * SERIALIZABLE somebody has asked for, who must not get less without a word.
 *
 * @throws ConfigError `CONFIG_INVALID` for a pool whose sessions ask for SERIALIZABLE
 */
export async function refuseSerializable(sessions: Sessions): Promise<void> {
  const level = await isolationOf(sessions)
  if (level !== 'SERIALIZABLE') return
  throw new ConfigError([
    'transaction isolation: expected READ COMMITTED or REPEATABLE READ, got SERIALIZABLE, which transactions of handlers ' +
      'do not have: they are READ COMMITTED. Set another level for the sessions of this pool, and lock what handlers read ' +
      'and then write (select ... for update)',
  ])
}
