import { needed, optionsOf, type InboxStore, type LeaseStore, type Table } from '../../src/internal.ts'
import { idleLimitOf } from '../sql/idle-end.ts'
import { outboxGiven } from '../sql/outbox/outbox.ts'
import { sqlInbox } from '../sql/inbox/store.ts'
import { checkup } from './checkup.ts'
import { databaseOf } from './database.ts'
import { adminOf } from '../sql/admin.ts'
import { sqlLease } from '../sql/lease-store.ts'
import { LEASE_ADMIN } from '../sql/lease/admin.ts'
import { LEASE_CALLS } from './lease/calls.ts'
import { ERRORS } from './sql-errors.ts'
import { migrationScript } from './schema/migrations.ts'
import type { MysqlTransaction } from './tx/mysql-transaction.ts'
import { DATABASE, poolOptions, type MysqlInboxOptions, type MysqlLeaseOptions } from './options.ts'
import { tablesIn } from './statements/tables.ts'

export { mysqlOutbox } from './outbox/mysql-outbox.ts'
export type { MysqlOutbox, MysqlOutboxOptions } from './outbox/types.ts'
export { mysqlMigrations, type MysqlMigrationsOptions } from './schema/mysql-migrations.ts'
export type { MysqlInboxOptions, MysqlLeaseOptions, MysqlOptions } from './options.ts'
export type { MysqlQuery, MysqlTransaction } from './tx/mysql-transaction.ts'
export type { MysqlConnectionLike, MysqlPoolLike } from './clients.ts'

/**
 * An inbox in MariaDB (10.3 or newer) or MySQL (8.0 or newer): effect and mark commit in one transaction. Handlers get
 * the transaction as `ctx.tx`. Writes through it to InnoDB tables commit once; other effects may happen more than once.
 * Do not run statements with an implicit commit (DDL) in a handler: if a handler commits its transaction that way, its
 * messages are parked for a person. If `innodb_flush_log_at_trx_commit` is not 1, or after a failover to an
 * asynchronous replica, the server can lose a mark together with its effect after the message was settled.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function mysqlInbox(options: MysqlInboxOptions): InboxStore<MysqlTransaction> {
  const resolved = poolOptions(options, 'mysqlInbox')
  const outbox = resolved.outbox && outboxGiven('mysqlInbox', resolved.outbox, 'mysqlOutbox', resolved.database)
  const opened = databaseOf(resolved, 'inbox', outbox)
  return sqlInbox({
    ...opened,
    name: 'mysql-inbox',
    outbox,
    idleLimit: idleLimitOf(resolved.idleInTransactionTimeoutMs),
    checkup: () => checkup(opened.sessions, 'inbox', tablesIn(resolved.database)),
  })
}

/**
 * Leases in a table of MariaDB (10.3 or newer) or MySQL (8.0 or newer), for effects outside of the database. Each
 * claim, mark and renewal is a short transaction. Leases are measured by the server's clock.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function mysqlLease(options: MysqlLeaseOptions): LeaseStore {
  const resolved = poolOptions(options, 'mysqlLease')
  const { sessions, database } = databaseOf(resolved, 'lease')
  return sqlLease({
    name: 'mysql-lease',
    errors: ERRORS,
    database,
    calls: LEASE_CALLS,
    admin: adminOf(ERRORS, database, LEASE_ADMIN),
    checkup: () => checkup(sessions, 'lease', tablesIn(resolved.database)),
  })
}

const MIGRATION_SQL: Table<{ readonly database: string }> = { database: needed(DATABASE) }

/**
 * The tables as plain SQL, for a DBA. Run it once, before `setup: 'check'`.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function mysqlMigrationSql(options: { readonly database: string }): string {
  const { database } = optionsOf('mysqlMigrationSql', MIGRATION_SQL, options)
  return migrationScript(tablesIn(database))
}
