import { needed, optionsOf, type Table } from '../../../src/internal.ts'
import { SQL } from '../../sql/options.ts'
import { OutboxInSql } from '../../sql/outbox/outbox.ts'
import { OUTBOX, problemsOfOutbox, RELAY_IDLE_MS } from '../../sql/outbox/options.ts'
import { prepareOn, sessionsOn } from '../database.ts'
import { DATABASE, POOL, poolOptions } from '../options.ts'
import { tablesIn } from '../statements/tables.ts'
import { fillLanes, mysqlOutboxStatements, readLanes } from './statements.ts'
import type { MysqlOutbox, MysqlOutboxOptions } from './types.ts'

const OPTIONS: Table<MysqlOutboxOptions, 'database' | 'maxAttempts' | 'observe'> = {
  pool: needed(POOL),
  database: DATABASE,
  ...OUTBOX,
}

/**
 * An outbox in MariaDB (10.3 or newer) or MySQL (8.0 or newer): what a handler publishes commits with its effect and its
 * mark, and a relay publishes it after that, at least once and under the same message ID. Give it to the store
 * (`mysqlInbox({ pool, outbox })`), or write to it in transactions of your own (`publish(tx, message)`) and `start()` it. If
 * `innodb_flush_log_at_trx_commit` is not 1, the server can lose an effect whose message was published.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function mysqlOutbox(given: MysqlOutboxOptions): MysqlOutbox {
  const options = optionsOf('mysqlOutbox', OPTIONS, given, problemsOfOutbox)
  const { pool, database, setup } = options
  const lockTimeoutMs = SQL.lockTimeoutMs.default
  const resolved = poolOptions(
    {
      pool,
      ...(database !== undefined && { database }),
      setup,
      lockTimeoutMs,
      idleInTransactionTimeoutMs: RELAY_IDLE_MS,
    },
    'mysqlOutbox',
  )
  const tables = tablesIn(resolved.database)
  const sessions = sessionsOn(resolved)
  const prepare = async (): Promise<void> => {
    await prepareOn(sessions, tables, setup)
    const fill = fillLanes(tables, await sessions.committed(readLanes(tables)))
    if (fill !== undefined) await sessions.committed(fill)
  }
  return new OutboxInSql({
    sessions,
    statements: mysqlOutboxStatements(tables, () => sessions.asOne),
    prepare,
    options,
    place: resolved.database,
  })
}
