import {
  ConfigError,
  matching,
  needed,
  optionsOf,
  where,
  type DurationMs,
  type Rule,
  type Table,
} from '../../src/internal.ts'
import { problemsOfLockWait, SQL } from '../sql/options.ts'
import type { MysqlPoolLike } from './clients.ts'
import type { TransactionLimits } from './statements/transaction.ts'

export interface MysqlOptions {
  /**
   * A pool of `mysql2/promise` (`createPool`). You close it. Its `connectionLimit` must be at least 2: all stores on
   * the pool together open transactions on all connections but one, which runs short statements. The pool must connect to the
   * primary, not to a replica. `multipleStatements` is not needed.
   */
  readonly pool: MysqlPoolLike
  /**
   * The database of the library's tables, all named `consume_once_…`. It must exist and match `^[A-Za-z0-9_-]{1,64}$`.
   * @defaultValue the `database` of the pool's configuration
   */
  readonly database?: string
  /**
   * `auto` brings the tables up to date in `open()`. `check` only checks them, for users who may not create tables.
   * @defaultValue `auto`
   */
  readonly setup?: 'auto' | 'check'
  /**
   * How long a call waits for a transaction that holds one of its keys, in milliseconds. It is rounded up to whole
   * seconds, the unit of `innodb_lock_wait_timeout`. A claim then answers `busy`. It does not limit handlers. Must be
   * less than `queryTimeoutMs`.
   * @defaultValue 1000
   */
  readonly lockTimeoutMs?: DurationMs
  /**
   * How long the store waits for the answer to one of its own statements, or for a connection, in milliseconds. After
   * that it closes the connection, and the answer counts as unknown. Statements of handlers have only the limits of the
   * pool.
   * @defaultValue 10000
   */
  readonly queryTimeoutMs?: DurationMs
}

export interface MysqlInboxOptions extends MysqlOptions {
  /**
   * `wait_timeout` in the transaction, in milliseconds, rounded up to whole seconds: how long a handler may run without
   * a query. It frees the keys of a frozen process. Choose a value above `handlerTimeoutMs`; 0 keeps the limit of the
   * session.
   * @defaultValue 300000
   */
  readonly idleInTransactionTimeoutMs?: DurationMs
}

export type MysqlLeaseOptions = MysqlOptions

export interface Limits extends TransactionLimits {
  readonly queryTimeoutMs: DurationMs
}

export interface ResolvedMysql {
  readonly pool: MysqlPoolLike
  readonly max: number
  readonly database: string
  readonly setup: 'auto' | 'check'
  readonly limits: Limits
}

export const POOL: Rule<MysqlPoolLike> = where('a pool of mysql2/promise', (pool) => isPool(pool as MysqlPoolLike), {
  got: (pool) => typeof pool,
})

/** The name is written into statements as an identifier. */
export const DATABASE: Rule<string> = matching('^[A-Za-z0-9_-]{1,64}$', /^[A-Za-z0-9_-]{1,64}$/)

const LEASE: Table<MysqlLeaseOptions, 'database'> = {
  pool: needed(POOL),
  database: DATABASE,
  setup: SQL.setup,
  lockTimeoutMs: SQL.lockTimeoutMs,
  queryTimeoutMs: SQL.queryTimeoutMs,
}

const INBOX: Table<MysqlInboxOptions, 'database'> = {
  ...LEASE,
  idleInTransactionTimeoutMs: SQL.idleInTransactionTimeoutMs,
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveMysql(
  given: MysqlInboxOptions,
  store: 'mysqlInbox' | 'mysqlLease' | 'mysqlMigrations',
): ResolvedMysql {
  if (isPool(given)) throw new ConfigError([`${store}: pool: expected options, { pool }, got the pool itself`])
  const table = store === 'mysqlInbox' ? INBOX : (LEASE as typeof INBOX)
  const options = optionsOf(store, table, given, (all, problems) => {
    const { pool, lockTimeoutMs } = all
    if (!(maxOf(pool) >= 2)) {
      const text = 'connectionLimit >= 2 (a transaction, and beside it short statements)'
      problems.push(`pool: expected a mysql2 pool with ${text}, got ${maxOf(pool)}`)
    }
    const database = databaseOf(all)
    if (database === undefined) problems.push('database: expected a pool with a database, or the option, got neither')
    else DATABASE.read(database, { name: 'database', problems })
    const ms = Math.ceil(lockTimeoutMs / 1_000) * 1_000
    problemsOfLockWait(all, { ms, unit: ' in whole seconds' }, problems)
  })
  const { pool, setup, lockTimeoutMs, queryTimeoutMs } = options
  // Leases have no such option, and the same sessions.
  const idleInTransactionTimeoutMs = given.idleInTransactionTimeoutMs ?? SQL.idleInTransactionTimeoutMs.default
  const limits = { lockTimeoutMs, queryTimeoutMs, idleInTransactionTimeoutMs }
  return Object.freeze({ pool, max: maxOf(pool), database: databaseOf(options) ?? '', setup, limits })
}

/** From the configuration, and not from a connection: whoever had that before may have changed its database. */
function databaseOf({ pool, database }: { pool: MysqlPoolLike; database: string | undefined }): string | undefined {
  return database ?? pool.pool.config.connectionConfig?.database
}

function maxOf({ pool }: MysqlPoolLike): number {
  return pool.config.connectionLimit ?? Number.NaN
}

function isPool(value: Partial<MysqlPoolLike> | MysqlOptions | null | undefined): value is MysqlPoolLike {
  const { getConnection, pool } = (value ?? {}) as Partial<MysqlPoolLike>
  return typeof getConnection === 'function' && pool?.config !== undefined
}
