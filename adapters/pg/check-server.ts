import { ConfigError } from '../../src/internal.ts'
import type { PgSessions } from './sessions/session.ts'
import { MAY_FLUSH } from './statements/flush.ts'
import { READ_SERVER, type ServerRow } from './statements/read-server.ts'

const OLDEST = 130_000

/**
 * @throws ConfigError `CONFIG_INVALID` for a replica, a read-only role, a server that is too old, or a pooler in
 * statement mode
 */
export async function checkServer(sessions: PgSessions): Promise<ServerRow> {
  const [server] = await sessions.settled(READ_SERVER, ([row]) => row?.read_only === false)
  if (server === undefined) throw new TypeError('a SELECT without a row (check-server)')
  const problems: string[] = []
  if (server.in_recovery) problems.push('Postgres: expected the primary, got a server in recovery (a replica)')
  if (server.read_only) problems.push('Postgres: expected default_transaction_read_only = off, got on')
  if (server.version < OLDEST) {
    problems.push(`Postgres: expected version 13 or newer, got server_version_num ${server.version}`)
  }
  if ((await sessions.pooling()) === 'by-statement') {
    problems.push(
      'Postgres: expected a pooler with pool_mode = transaction or session, got one that lets nobody begin a transaction (statement). Set pool_mode = transaction for this database, or connect directly',
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return server
}

/** @throws ConfigError `CONFIG_INVALID` for a role that may not emit the empty message by which the ticker flushes */
export async function checkFlush(sessions: PgSessions): Promise<void> {
  const [row] = await sessions.committed(MAY_FLUSH)
  if (row?.may_flush === true) return
  const text =
    "durability 'flush-ticker': expected a role that may execute pg_logical_emit_message, got one that may not"
  throw new ConfigError([text])
}
