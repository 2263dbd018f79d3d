import { checkNames, ConfigError, givenOf, type DurationMs } from '../../src/index.ts'
import type { MysqlPoolLike } from './slice.ts'
import type { TransactionLimits } from './sql/transaction.ts'

export interface MysqlOptions {
  /**
   * A pool of `mysql2/promise` (`createPool`), yours to close. Of its `connectionLimit` (at least 2) all stores on it together
   * open transactions on all but one, which counts attempts. Put no replica behind it. `multipleStatements` is not needed.
   */
  readonly pool: MysqlPoolLike
  /**
   * Holds the tables of the library, all named `consume_once_…`: `^[A-Za-z0-9_-]{1,64}$`. It must exist.
   * @defaultValue the database that connections of the pool are in
   */
  readonly database?: string
  /**
   * `auto` brings the tables up to date in `open()`; `verify` only checks them, for users who may not create tables.
   * @defaultValue `auto`
   */
  readonly migrate?: 'auto' | 'verify'
  /**
   * How long a call waits for a transaction that holds one of its keys, in milliseconds, rounded up to whole seconds, which is
   * what the server counts in (`innodb_lock_wait_timeout`). A claim then answers `busy`. Not a limit for handlers. Less than
   * `queryTimeoutMs`. @defaultValue 1000
   */
  readonly lockTimeoutMs?: DurationMs
  /**
   * How long the store waits for an answer to statements of its own, or for a connection, in milliseconds. Past it the
   * connection is closed and the answer counts as unknown. Statements of handlers have no limit but the pool's.
   * @defaultValue 10000
   */
  readonly queryTimeoutMs?: DurationMs
}

export interface MysqlInboxOptions extends MysqlOptions {
  /**
   * `wait_timeout` in the transaction, in milliseconds, rounded up to whole seconds: how long a handler may do something else
   * than query. It frees the keys that a process holds that is frozen. Choose it longer than `handlerTimeoutMs`; 0 is no limit
   * but that of the session. @defaultValue 300000
   */
  readonly idleInTransactionTimeoutMs?: DurationMs
}

export type MysqlLeaseOptions = MysqlOptions

/** The only place with a default. */
const DEFAULTS: Required<Omit<MysqlInboxOptions, 'pool' | 'database'>> = {
  migrate: 'auto',
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
  readonly database: string | undefined
  readonly migrate: 'auto' | 'verify'
  readonly limits: Limits
}

const OF_LEASE: { readonly [O in keyof Required<MysqlLeaseOptions>]: true } = {
  pool: true,
  database: true,
  migrate: true,
  lockTimeoutMs: true,
  queryTimeoutMs: true,
}

/** The names of their options. */
const KNOWN = { mysqlInbox: { ...OF_LEASE, idleInTransactionTimeoutMs: true }, mysqlLease: OF_LEASE }

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveMysql(options: MysqlInboxOptions, store: 'mysqlInbox' | 'mysqlLease'): ResolvedMysql {
  if (isPool(options)) throw new ConfigError([`${store}: pool: expected options, { pool }, got the pool itself`])
  const given = givenOf(options)
  const { pool, migrate, lockTimeoutMs, queryTimeoutMs, idleInTransactionTimeoutMs } = { ...DEFAULTS, ...given }
  const { database } = given
  const problems = database === undefined ? [] : databaseProblems(database)
  checkNames('', given, { known: KNOWN[store] }, problems)
  const isPromised = isPool(pool)
  const max = isPromised ? (pool.pool.config.connectionLimit ?? Number.NaN) : Number.NaN
  if (!isPromised) problems.push('pool: expected a pool of mysql2/promise, got something else')
  else if (!(max >= 2)) {
    const text = 'connectionLimit >= 2 (a transaction, and beside it the count of attempts)'
    problems.push(`pool: expected a mysql2 pool with ${text}, got ${max}`)
  }
  if (migrate !== 'auto' && migrate !== 'verify') {
    problems.push(`migrate: expected 'auto' or 'verify', got ${JSON.stringify(migrate)}`)
  }
  for (const [name, value, least] of [
    ['lockTimeoutMs', lockTimeoutMs, 1],
    ['queryTimeoutMs', queryTimeoutMs, 1],
    ['idleInTransactionTimeoutMs', idleInTransactionTimeoutMs, 0],
  ] as const) {
    if (Number.isSafeInteger(value) && value >= least && value < 2 ** 31) continue
    problems.push(`${name}: expected a whole number of milliseconds from ${least}, got ${String(value)}`)
  }
  const waitMs = Math.ceil(lockTimeoutMs / 1_000) * 1_000
  if (waitMs >= queryTimeoutMs) {
    const text = `less than queryTimeoutMs (${queryTimeoutMs}) in whole seconds, got ${lockTimeoutMs}`
    problems.push(`lockTimeoutMs: expected ${text}`)
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${store}: ${problem}`))
  const limits = { lockTimeoutMs, queryTimeoutMs, idleInTransactionTimeoutMs }
  return Object.freeze({ pool, max, database, migrate, limits })
}

function isPool(value: Partial<MysqlPoolLike> | MysqlOptions | null | undefined): value is MysqlPoolLike {
  const { getConnection, pool } = (value ?? {}) as Partial<MysqlPoolLike>
  return typeof getConnection === 'function' && pool?.config !== undefined
}

/** What is written into statements as an identifier. */
export function databaseProblems(database: unknown): string[] {
  if (typeof database === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(database)) return []
  return [`database: expected ^[A-Za-z0-9_-]{1,64}$, got ${JSON.stringify(database)}`]
}
