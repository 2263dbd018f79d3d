import { ConfigError, type Store } from '../../src/index.ts'
import { Database } from './database.ts'
import { InboxStore } from './inbox/inbox-store.ts'
import { LeaseStore } from './lease/lease-store.ts'
import { migrationScript } from './migrations.ts'
import type { MysqlTransaction } from './mysql-transaction.ts'
import { databaseProblems, resolveMysql, type MysqlInboxOptions, type MysqlLeaseOptions } from './options.ts'
import { tablesIn } from './sql/tables.ts'

export type { MysqlInboxOptions, MysqlLeaseOptions, MysqlOptions } from './options.ts'
export type { MysqlQuery, MysqlTransaction } from './mysql-transaction.ts'
export type { MysqlConnectionLike, MysqlPoolLike } from './slice.ts'

/**
 * Effect and mark in one transaction of MariaDB (10.3 or newer) or MySQL (8.0 or newer): handlers get it as `ctx.tx`, and what
 * they write through it, in tables of InnoDB, commits once. Effects outside of it may happen more than once. Statements that
 * commit implicitly (DDL) have no place in a handler: a transaction that one has torn is parked, for a person. With
 * `innodb_flush_log_at_trx_commit` other than 1, or after a failover to an asynchronous replica, a mark is lost with its effect,
 * after the settle.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function mysqlInbox(options: MysqlInboxOptions): Store<MysqlTransaction> {
  return new InboxStore(new Database(resolveMysql(options, 'mysqlInbox')))
}

/**
 * Leases in a table of MariaDB (10.3 or newer) or MySQL (8.0 or newer), for effects outside of the database. Each claim, mark
 * and renewal is a short transaction, measured by the server's clock.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function mysqlLease(options: MysqlLeaseOptions): Store {
  return new LeaseStore(new Database(resolveMysql(options, 'mysqlLease')))
}

/** The tables as plain SQL, for a DBA: to be run once, before `migrate: 'verify'`. @throws ConfigError `CONFIG_INVALID` */
export function migrationSql({ database }: { readonly database: string }): string {
  const problems = databaseProblems(database)
  if (problems.length > 0) throw new ConfigError(problems)
  return migrationScript(tablesIn(database))
}
