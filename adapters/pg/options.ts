import { ConfigError, type DurationMs } from '../../src/index.ts'
import type { PgliteLike, PoolLike } from './clients.ts'
import { tablesIn, type Tables } from './sql/tables.ts'
import type { TransactionLimits } from './sql/transaction.ts'

export interface PostgresInboxOptions {
  /**
   * A `Pool` of `pg`, yours to close. Of its `max` connections (at least 2) all stores on it together open transactions on
   * all but one, which counts attempts. Put no replica behind it.
   */
  readonly pool: PoolLike
  /** Holds all tables of the library: `^[a-z_][a-z0-9_]{0,62}$`, not `pg_`. @defaultValue `consume_once` */
  readonly schema?: string
  /**
   * `auto` brings the schema up to date in `open()`; `verify` only checks it, for roles that may not create tables.
   * @defaultValue `auto`
   */
  readonly migrate?: 'auto' | 'verify'
  /**
   * How long a claim waits for the transaction that holds one of its keys, in milliseconds; then it answers `busy`. Not a
   * limit for handlers. Less than `queryTimeoutMs`. @defaultValue 1000
   */
  readonly lockTimeoutMs?: DurationMs
  /**
   * How long the store waits for an answer to a statement of its own, or for a connection, in milliseconds. Past it the
   * connection is closed and the answer counts as unknown. Statements of handlers have the limits of the pool.
   * @defaultValue 10000
   */
  readonly queryTimeoutMs?: DurationMs
  /** `statement_timeout` in the transaction, for handlers too, in milliseconds. @defaultValue that of the session */
  readonly statementTimeoutMs?: DurationMs
  /**
   * `idle_in_transaction_session_timeout` in the transaction, in milliseconds: how long a handler may do something else
   * than query. It frees what a process holds that is frozen: keys of an inbox, or whole partitions of stored offsets. Choose
   * it longer than `handlerTimeoutMs`; 0 is no limit.
   * @defaultValue 300000
   */
  readonly idleInTransactionTimeoutMs?: DurationMs
}

/** As for `postgresInbox`; what a claim waits for is the transaction that holds its partition. */
export type PostgresOffsetsOptions = PostgresInboxOptions

export interface PgliteInboxOptions {
  /**
   * A `PGlite`, yours to close, without `relaxedDurability`. It has one connection: one transaction runs at a time, and a
   * query on `db` itself, also in a handler, waits for its end.
   */
  readonly db: PgliteLike
  /** As for `postgresInbox`. @defaultValue `consume_once` */
  readonly schema?: string
}

/** The only place with a default. */
export const DEFAULTS: Required<Omit<PostgresInboxOptions, 'pool' | 'statementTimeoutMs'>> = {
  schema: 'consume_once',
  migrate: 'auto',
  lockTimeoutMs: 1_000,
  queryTimeoutMs: 10_000,
  idleInTransactionTimeoutMs: 300_000,
}

export interface Limits extends TransactionLimits {
  readonly queryTimeoutMs: DurationMs
}

export interface ResolvedPostgres {
  readonly pool: PoolLike
  readonly max: number
  readonly migrate: 'auto' | 'verify'
  readonly tables: Tables
  readonly limits: Limits
}

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolvePostgres(options: PostgresInboxOptions, store: string): ResolvedPostgres {
  const { pool, schema, migrate, lockTimeoutMs, queryTimeoutMs, idleInTransactionTimeoutMs } = {
    ...DEFAULTS,
    ...options,
  }
  const { statementTimeoutMs } = options
  const problems = [...schemaProblems(schema)]
  const max = pool?.options?.max ?? Number.NaN
  if (!(max >= 2)) {
    problems.push(
      `pool: expected a pg Pool with max >= 2 (a transaction, and beside it the count of attempts), got ${max}`,
    )
  }
  if (migrate !== 'auto' && migrate !== 'verify') {
    problems.push(`migrate: expected 'auto' or 'verify', got ${JSON.stringify(migrate)}`)
  }
  for (const [name, value, least] of [
    ['lockTimeoutMs', lockTimeoutMs, 1],
    ['queryTimeoutMs', queryTimeoutMs, 1],
    ['statementTimeoutMs', statementTimeoutMs ?? 1, 1],
    ['idleInTransactionTimeoutMs', idleInTransactionTimeoutMs, 0],
  ] as const) {
    if (Number.isSafeInteger(value) && value >= least && value < 2 ** 31) continue
    problems.push(`${name}: expected a whole number of milliseconds from ${least}, got ${String(value)}`)
  }
  if (lockTimeoutMs >= queryTimeoutMs) {
    problems.push(`lockTimeoutMs: expected less than queryTimeoutMs (${queryTimeoutMs}), got ${lockTimeoutMs}`)
  }
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${store}: ${problem}`))
  const limits = { lockTimeoutMs, queryTimeoutMs, statementTimeoutMs, idleInTransactionTimeoutMs }
  return Object.freeze({ pool, max, migrate, tables: tablesIn(schema), limits })
}

/** @throws ConfigError `CONFIG_INVALID` */
export function resolveTables(schema: string = DEFAULTS.schema): Tables {
  const problems = schemaProblems(schema)
  if (problems.length > 0) throw new ConfigError(problems)
  return tablesIn(schema)
}

/** Postgres cuts a longer name at 63 bytes without a word. */
export function schemaProblems(schema: unknown): string[] {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) return []
  return [`schema: expected ^[a-z_][a-z0-9_]{0,62}$, not pg_, got ${JSON.stringify(schema)}`]
}
