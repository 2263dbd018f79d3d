import {
  ConfigError,
  having,
  matching,
  needed,
  optionsOf,
  where,
  type Complete,
  type DurationMs,
  type Rule,
  type Table,
} from '../../src/internal.ts'
import { problemsOfLockWait, SQL, type SqlOptions } from '../sql/options.ts'
import type { MysqlPoolLike } from './clients.ts'
import type { MysqlOutbox } from './outbox/types.ts'

export interface MysqlOptions extends SqlOptions {
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
}

export interface MysqlInboxOptions extends MysqlOptions {
  /**
   * Where handlers publish (`ctx.publish`), in the transaction of the effect. Its table must be on the same server. It
   * publishes as long as a consumer runs on the store.
   * @defaultValue none: `ctx.publish` is refused
   */
  readonly outbox?: MysqlOutbox
  /**
   * `wait_timeout` in the transaction, in milliseconds, rounded up to whole seconds: how long a handler may run without
   * a query. It frees the keys of a frozen process. Choose a value above `handlerTimeoutMs`; 0 keeps the limit of the
   * session.
   * @defaultValue 300000
   */
  readonly idleInTransactionTimeoutMs?: DurationMs
}

export type MysqlLeaseOptions = MysqlOptions

/** With its database. Leases have no transactions of handlers, and the same sessions. */
export type PoolOptions = Complete<MysqlInboxOptions, 'outbox'>

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

const INBOX: Table<MysqlInboxOptions, 'database' | 'outbox'> = {
  ...LEASE,
  outbox: having('a mysqlOutbox', 'publish', 'start', 'stop'),
  idleInTransactionTimeoutMs: SQL.idleInTransactionTimeoutMs,
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function poolOptions(
  given: MysqlInboxOptions,
  store: 'mysqlInbox' | 'mysqlLease' | 'mysqlMigrations' | 'mysqlOutbox',
): PoolOptions {
  if (isPool(given)) throw new ConfigError([`${store}: pool: expected options, { pool }, got the pool itself`])
  const table = store === 'mysqlInbox' || store === 'mysqlOutbox' ? INBOX : (LEASE as typeof INBOX)
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
  const { idleInTransactionTimeoutMs = SQL.idleInTransactionTimeoutMs.default } = options as Partial<typeof options>
  return { ...options, database: databaseOf(options) ?? '', idleInTransactionTimeoutMs }
}

/** From the configuration, and not from a connection: whoever had that before may have changed its database. */
function databaseOf({ pool, database }: { pool: MysqlPoolLike; database: string | undefined }): string | undefined {
  return database ?? pool.pool.config.connectionConfig?.database
}

export function maxOf({ pool }: MysqlPoolLike): number {
  return pool.config.connectionLimit ?? Number.NaN
}

function isPool(value: Partial<MysqlPoolLike> | MysqlOptions | null | undefined): value is MysqlPoolLike {
  const { getConnection, pool } = (value ?? {}) as Partial<MysqlPoolLike>
  return typeof getConnection === 'function' && pool?.config !== undefined
}
