import {
  ELSEWHERE,
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
  nowCalled,
} from '../../src/internal.ts'
import { problemsOfLockWait, SQL, type SqlOptions } from '../sql/options.ts'
import type { PostgresOutbox } from './outbox/types.ts'
import type { PgliteLike, PoolLike } from './clients.ts'

interface InSchema {
  /**
   * The schema of the library's tables: `^[a-z_][a-z0-9_]{0,62}$`, not beginning with `pg_`.
   * @defaultValue `consume_once`
   */
  readonly schema?: string
}

export interface PostgresLeaseOptions extends SqlOptions, InSchema {
  /**
   * A `Pool` of `pg`. You close it. Each call takes one connection for one statement, and no transaction stays open.
   * Other users of the pool must leave a connection free in time, or leases are renewed too late. The pool must connect
   * to the primary, not to a replica.
   */
  readonly pool: PoolLike
  /**
   * How long the store waits for an answer, or for a connection, in milliseconds. After that it closes the connection,
   * the answer counts as unknown, and the same call is made again. Keep it below a third of the lease.
   * @defaultValue 5000
   */
  readonly queryTimeoutMs?: DurationMs
}

interface WithOutbox {
  /**
   * Where handlers publish (`ctx.publish`), in the transaction of the effect. Its table must be in the same database. It
   * publishes as long as a consumer runs on the store.
   * @defaultValue none: `ctx.publish` is refused
   */
  readonly outbox?: PostgresOutbox
}

export interface PostgresOffsetsOptions extends SqlOptions, InSchema, WithOutbox {
  /**
   * A `Pool` of `pg`. You close it. Its `max` must be at least 2: all stores on the pool together open transactions on
   * all connections but one, which runs short statements. The pool must connect to the primary, not to a replica.
   */
  readonly pool: PoolLike
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

export interface PostgresInboxOptions extends PostgresOffsetsOptions {
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
}

export interface PgliteInboxOptions extends InSchema {
  /**
   * A `PGlite` without `relaxedDurability`. You close it. It has one connection: one transaction runs at a time, and a
   * query on `pglite` itself, even in a handler, waits for its end.
   */
  readonly pglite: PgliteLike
}

export type PgliteLeaseOptions = PgliteInboxOptions

export interface PostgresMigrationSqlOptions extends InSchema {
  /**
   * Number of hash partitions of the inbox table, from 2 to 256, for tables that many processes write at once. They do
   * not help retention, and every batch looks into all of them. The number cannot be changed later.
   * @defaultValue no partitions
   */
  readonly inboxPartitions?: number
}

export type PostgresMigrationsOptions = InSchema &
  (
    | {
        /** A `Pool` of `pg` with `max` of at least 2. You close it. */
        readonly pool: PoolLike
        readonly url?: never
      }
    | {
        /**
         * URL of the database, with a role that may create tables. Each call opens its own connections with `pg`, and
         * closes them.
         */
        readonly url: string
        readonly pool?: never
      }
  )

export const POOL: Rule<PoolLike> = where('a Pool of pg', (pool) => !Number.isNaN(maxOf(pool as PoolLike)), {
  got: (pool) => typeof pool,
})

/** Postgres silently cuts longer names at 63 bytes. */
export const SCHEMA: Defaulted<string> = or(
  'consume_once',
  matching('^[a-z_][a-z0-9_]{0,62}$, not pg_', /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/), // mutant: identifiers-cut-at-63-bytes
)

export const LEASE: Table<PostgresLeaseOptions> = {
  pool: needed(POOL),
  schema: SCHEMA,
  setup: SQL.setup,
  lockTimeoutMs: SQL.lockTimeoutMs,
  queryTimeoutMs: or(5_000, SQL.queryTimeoutMs),
}

export const OFFSETS: Table<PostgresOffsetsOptions, 'statementTimeoutMs' | 'outbox'> = {
  ...LEASE,
  outbox: having('a postgresOutbox', 'publish', 'start', 'stop'),
  queryTimeoutMs: SQL.queryTimeoutMs,
  statementTimeoutMs: millis(),
  idleInTransactionTimeoutMs: SQL.idleInTransactionTimeoutMs,
}

export const INBOX: Table<PostgresInboxOptions, 'statementTimeoutMs' | 'outbox'> = {
  ...OFFSETS,
  durability: or('commit', oneOf('commit', 'flush-ticker')),
}

export const PGLITE: Table<PgliteInboxOptions> = {
  pglite: needed(having('a PGlite', 'transaction')),
  schema: SCHEMA,
  [ELSEWHERE]: { db: nowCalled('pglite') },
}

/** The options of any store on a pool. Leases have no transactions of handlers. */
export type PoolOptions = Complete<PostgresLeaseOptions> &
  Partial<
    Pick<
      Complete<PostgresInboxOptions, 'statementTimeoutMs' | 'outbox'>,
      'durability' | 'statementTimeoutMs' | 'idleInTransactionTimeoutMs' | 'outbox'
    >
  >

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function poolOptions<Given extends PostgresLeaseOptions, Without extends NamesOf<Given>>(
  store: string,
  table: Table<Given, Without>,
  options: Given,
): PoolOptions & Complete<Given, Without> {
  // A pool that was passed instead of options: none of its many properties is an option.
  if (!Number.isNaN(maxOf(options as unknown as PoolLike)))
    throw new ConfigError([`${store}: pool: expected options, { pool }, got the pool itself`])
  const check = (given: unknown, problems: string[]): void => problemsOf(given as PoolOptions, problems)
  return optionsOf(store, table, options, check) as PoolOptions & Complete<Given, Without>
}

function problemsOf(options: PoolOptions, problems: string[]): void {
  const { pool, durability, idleInTransactionTimeoutMs, lockTimeoutMs } = options
  const beside = besideOf(durability)
  const isLease = idleInTransactionTimeoutMs === undefined
  const least = isLease ? 1 : beside + 1
  const what = isLease ? '' : ` (a transaction, and beside it short statements${beside === 1 ? '' : ' and the flush'})`
  if (!(maxOf(pool) >= least)) {
    problems.push(`pool: expected a pg Pool with max >= ${least}${what}, got ${maxOf(pool)}`)
  }
  problemsOfLockWait(options, { ms: lockTimeoutMs, unit: '' }, problems)
}

/** Connections for short statements. */
function besideOf(durability: PoolOptions['durability']): number {
  return durability === 'flush-ticker' ? 2 : 1
}

/** The number of transactions that may be open at once. */
export function transactionsOn({ pool, durability }: PoolOptions): number {
  return Math.max(1, maxOf(pool) - besideOf(durability))
}

/** The `max` of a pool; `NaN` if the value is not a pool. */
function maxOf(pool: PoolLike | null | undefined): number {
  return typeof pool?.connect === 'function' ? (pool.options?.max ?? Number.NaN) : Number.NaN
}
