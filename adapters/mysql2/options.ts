import { checkNames, ConfigError, givenOf, type DurationMs } from '../../src/spi.ts'
import { commonProblems } from '../sql/options.ts'
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

/** The only place that defines defaults. */
const DEFAULTS: Required<Omit<MysqlInboxOptions, 'pool' | 'database'>> = {
  setup: 'auto',
  lockTimeoutMs: 1_000,
  queryTimeoutMs: 10_000,
  idleInTransactionTimeoutMs: 300_000,
}

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

const OF_LEASE: { readonly [O in keyof Required<MysqlLeaseOptions>]: true } = {
  pool: true,
  database: true,
  setup: true,
  lockTimeoutMs: true,
  queryTimeoutMs: true,
}

/** Known options of each store. */
const KNOWN = {
  mysqlInbox: { ...OF_LEASE, idleInTransactionTimeoutMs: true } satisfies Record<keyof MysqlInboxOptions, true>,
  mysqlLease: OF_LEASE,
  mysqlMigrations: OF_LEASE,
}

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveMysql(
  options: MysqlInboxOptions,
  store: 'mysqlInbox' | 'mysqlLease' | 'mysqlMigrations',
): ResolvedMysql {
  if (isPool(options)) throw new ConfigError([`${store}: pool: expected options, { pool }, got the pool itself`])
  const given = givenOf(options)
  const { pool, setup, lockTimeoutMs, queryTimeoutMs, idleInTransactionTimeoutMs } = { ...DEFAULTS, ...given }
  // From the configuration, and not from a connection: whoever had that before may have changed its database.
  const database = given.database ?? (isPool(pool) ? pool.pool.config.connectionConfig?.database : undefined)
  const problems: string[] = []
  checkNames<MysqlLeaseOptions>('', given, { of: `${store}()`, known: KNOWN[store] }, problems)
  const isPromised = isPool(pool)
  const max = isPromised ? (pool.pool.config.connectionLimit ?? Number.NaN) : Number.NaN
  if (!isPromised) problems.push('pool: expected a pool of mysql2/promise, got something else')
  else if (!(max >= 2)) {
    const text = 'connectionLimit >= 2 (a transaction, and beside it short statements)'
    problems.push(`pool: expected a mysql2 pool with ${text}, got ${max}`)
  }
  if (database !== undefined) problems.push(...databaseProblems(database))
  else if (isPromised) problems.push('database: expected a pool with a database, or the option, got neither')
  const limits = { lockTimeoutMs, queryTimeoutMs, idleInTransactionTimeoutMs }
  const lockWait = { ms: Math.ceil(lockTimeoutMs / 1_000) * 1_000, unit: ' in whole seconds' }
  problems.push(...commonProblems({ setup, limits, mayBeNone: ['idleInTransactionTimeoutMs'], lockWait }))
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${store}: ${problem}`))
  return Object.freeze({ pool, max, database: database ?? '', setup, limits })
}

function isPool(value: Partial<MysqlPoolLike> | MysqlOptions | null | undefined): value is MysqlPoolLike {
  const { getConnection, pool } = (value ?? {}) as Partial<MysqlPoolLike>
  return typeof getConnection === 'function' && pool?.config !== undefined
}

/** The name is written into statements as an identifier. */
export function databaseProblems(database: unknown): string[] {
  if (typeof database === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(database)) return []
  return [`database: expected ^[A-Za-z0-9_-]{1,64}$, got ${JSON.stringify(database)}`]
}
