import { needed, optionsOf, type Table } from '../../../src/internal.ts'
import { SQL } from '../../sql/options.ts'
import { OutboxInSql } from '../../sql/outbox/outbox.ts'
import { OUTBOX, problemsOfOutbox, RELAY_IDLE_MS } from '../../sql/outbox/options.ts'
import { checkServer } from '../check-server.ts'
import { sessionsOn } from '../database.ts'
import { POOL, SCHEMA } from '../options.ts'
import { migrate } from '../schema/migrate.ts'
import { tablesIn } from '../statements/tables.ts'
import { pgOutbox } from './statements.ts'
import type { PostgresOutbox, PostgresOutboxOptions } from './types.ts'

const OPTIONS: Table<PostgresOutboxOptions, 'maxAttempts' | 'observe'> = {
  pool: needed(POOL),
  schema: SCHEMA,
  ...OUTBOX,
}

/**
 * An outbox in Postgres (13 or newer): what a handler publishes commits with its effect and its mark, and a relay publishes
 * it after that, at least once and under the same message ID. Give it to the store (`postgresInbox({ pool, outbox })`), or
 * write to it in transactions of your own (`publish(tx, message)`) and `start()` it.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresOutbox(given: PostgresOutboxOptions): PostgresOutbox {
  const options = optionsOf('postgresOutbox', OPTIONS, given, problemsOfOutbox)
  const { pool, schema, setup } = options
  const tables = tablesIn(schema)
  const sessions = sessionsOn({
    pool,
    schema,
    setup,
    lockTimeoutMs: SQL.lockTimeoutMs.default,
    queryTimeoutMs: SQL.queryTimeoutMs.default,
    idleInTransactionTimeoutMs: RELAY_IDLE_MS,
  })
  const prepare = async (): Promise<void> => {
    await checkServer(sessions)
    await migrate(sessions, tables, setup)
  }
  return new OutboxInSql({ sessions, statements: pgOutbox(tables), prepare, options, place: schema })
}
