import {
  ConfigError,
  having,
  matching,
  millis,
  needed,
  oneOf,
  optionsOf,
  or,
  where,
  type Complete,
  type Defaulted,
  type DurationMs,
  type NamesOf,
  type Rule,
  type Table,
} from '../../src/internal.ts'
import { problemsOfLockWait, SQL } from '../sql/options.ts'
import type { PgliteLike, PoolLike } from './clients.ts'
import { tablesIn, type Tables } from './statements/tables.ts'
import type { Flushing, TransactionLimits } from './statements/transaction.ts'

export interface PostgresInboxOptions {
  /**
   * A `Pool` of `pg`. You close it. Its `max` must be at least 2: all stores on the pool together open transactions on
   * all connections but one, which runs short statements. The pool must connect to the primary, not to a replica.
   */
  readonly pool: PoolLike
  /**
   * The schema of the library's tables: `^[a-z_][a-z0-9_]{0,62}$`, not beginning with `pg_`.
   * @defaultValue `consume_once`
   */
  readonly schema?: string
  /**
   * `auto` brings the schema up to date in `open()`. `check` only checks it, for roles that may not create tables.
   * @defaultValue `auto`
   */
  readonly setup?: 'auto' | 'check'
  /**
   * How long a claim waits for the transaction that holds one of its keys, in milliseconds; then it answers `busy`. It
   * does not limit handlers. Must be less than `queryTimeoutMs`.
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
  /**
   * How marks become durable. `commit`: each COMMIT is flushed. `flush-ticker`: a COMMIT is not flushed, and one loop
   * flushes for all that wait. That handles 1.3 to 1.7 times as many messages, and delays each by one flush. A mark
   * resolves, and a duplicate is settled, only after a flush that began after the mark; if the server crashes before
   * that, the message is redelivered as usual. Other readers of the database can see an effect before it is flushed.
   * After a scope has used `flush-ticker` once, all its processes wait for a flush before they settle a duplicate,
   * including those with `commit`. It needs one more connection: `max` of the pool must be at least 3.
   * @defaultValue `commit`
   */
  readonly durability?: 'commit' | 'flush-ticker'
  /**
   * `statement_timeout` in the transaction, in milliseconds. It applies to handlers too.
   * @defaultValue the setting of the session
   */
  readonly statementTimeoutMs?: DurationMs
  /**
   * `idle_in_transaction_session_timeout` in the transaction, in milliseconds: how long a handler may run without a
   * query. It frees the keys of a frozen process, or with stored offsets whole partitions. Choose a value above
   * `handlerTimeoutMs`; 0 is no limit.
   * @defaultValue 300000
   */
  readonly idleInTransactionTimeoutMs?: DurationMs
}

/** As for `postgresInbox`, but a claim waits for the transaction that holds its partition. */
export type PostgresOffsetsOptions = Omit<PostgresInboxOptions, 'durability'>

export interface PgliteInboxOptions {
  /**
   * A `PGlite` without `relaxedDurability`. You close it. It has one connection: one transaction runs at a time, and a
   * query on `db` itself, even in a handler, waits for its end.
   */
  readonly db: PgliteLike
  /**
   * As for `postgresInbox`.
   * @defaultValue `consume_once`
   */
  readonly schema?: string
}

export interface Limits extends TransactionLimits {
  readonly queryTimeoutMs: DurationMs
}

export interface ResolvedPostgres {
  readonly pool: PoolLike
  /** The number of transactions that may be open at once. */
  readonly transactions: number
  readonly flushing: Flushing
  readonly setup: 'auto' | 'check'
  readonly tables: Tables
  readonly limits: Limits
}

export const POOL: Rule<PoolLike> = where('a Pool of pg', (pool) => !Number.isNaN(maxOf(pool as PoolLike)), {
  got: (pool) => typeof pool,
})

/** Postgres silently cuts longer names at 63 bytes. */
export const SCHEMA: Defaulted<string> = or(
  'consume_once',
  matching('^[a-z_][a-z0-9_]{0,62}$, not pg_', /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/), // mutant: identifiers-cut-at-63-bytes
)

export const OFFSETS: Table<PostgresOffsetsOptions, 'statementTimeoutMs'> = {
  pool: needed(POOL),
  schema: SCHEMA,
  setup: SQL.setup,
  lockTimeoutMs: SQL.lockTimeoutMs,
  queryTimeoutMs: SQL.queryTimeoutMs,
  statementTimeoutMs: millis(),
  idleInTransactionTimeoutMs: SQL.idleInTransactionTimeoutMs,
}

export const INBOX: Table<PostgresInboxOptions, 'statementTimeoutMs'> = {
  ...OFFSETS,
  durability: or('commit', oneOf('commit', 'flush-ticker')),
}

const PGLITE: Table<PgliteInboxOptions> = { db: needed(having('a PGlite', 'transaction')), schema: SCHEMA }

type Checked = Complete<PostgresOffsetsOptions, 'statementTimeoutMs'> & Pick<PostgresInboxOptions, 'durability'>

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolvePostgres<Given extends PostgresOffsetsOptions, Without extends NamesOf<Given>>(
  store: string,
  table: Table<Given, Without>,
  options: Given,
): { readonly resolved: ResolvedPostgres; readonly options: Complete<Given, Without> } {
  refusePoolAsOptions(options, store)
  const all = optionsOf(store, table, options, (given, problems) => problemsOf(given as unknown as Checked, problems))
  return { resolved: resolvedOf(all as unknown as Checked), options: all }
}

function problemsOf(options: Checked, problems: string[]): void {
  const { pool, durability, lockTimeoutMs } = options
  const beside = besideOf(durability)
  if (!(maxOf(pool) > beside)) {
    const what = `a transaction, and beside it short statements${beside === 1 ? '' : ' and the flush'}`
    problems.push(`pool: expected a pg Pool with max >= ${beside + 1} (${what}), got ${maxOf(pool)}`)
  }
  problemsOfLockWait(options, { ms: lockTimeoutMs, unit: '' }, problems)
}

/** Connections for short statements. */
function besideOf(durability: PostgresInboxOptions['durability']): number {
  return durability === 'flush-ticker' ? 2 : 1
}

function resolvedOf(options: Checked): ResolvedPostgres {
  const { pool, schema, setup, durability } = options
  const { lockTimeoutMs, queryTimeoutMs, statementTimeoutMs, idleInTransactionTimeoutMs } = options
  return Object.freeze({
    pool,
    transactions: maxOf(pool) - besideOf(durability),
    flushing: durability === 'flush-ticker' ? 'late' : 'at-once',
    setup,
    tables: tablesIn(schema),
    limits: { lockTimeoutMs, queryTimeoutMs, statementTimeoutMs, idleInTransactionTimeoutMs },
  })
}

/**
 * Refuses a pool that was passed instead of options: none of its many properties is an option.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function refusePoolAsOptions(options: object, store: string): void {
  if (Number.isNaN(maxOf(options as PoolLike))) return
  throw new ConfigError([`${store}: pool: expected options, { pool }, got the pool itself`])
}

/** The `max` of a pool; `NaN` if the value is not a pool. */
export function maxOf(pool: PoolLike | null | undefined): number {
  return typeof pool?.connect === 'function' ? (pool.options?.max ?? Number.NaN) : Number.NaN
}

/** @throws ConfigError `CONFIG_INVALID` */
export function resolvePglite(given: PgliteInboxOptions, store: string): { db: PgliteLike; tables: Tables } {
  const { db, schema } = optionsOf(store, PGLITE, given)
  return { db, tables: tablesIn(schema) }
}
