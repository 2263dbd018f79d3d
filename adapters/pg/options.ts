import { checkNames, ConfigError, givenOf, SEQUENCE_OPTIONS, type DurationMs } from '../../src/spi.ts'
import { commonProblems } from '../sql/options.ts'
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

/** The only place that defines defaults. */
export const DEFAULTS: Required<Omit<PostgresInboxOptions, 'pool' | 'statementTimeoutMs'>> = {
  schema: 'consume_once',
  setup: 'auto',
  lockTimeoutMs: 1_000,
  queryTimeoutMs: 10_000,
  durability: 'commit',
  idleInTransactionTimeoutMs: 300_000,
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

const OF_OFFSETS: { readonly [O in keyof Required<PostgresOffsetsOptions>]: true } = {
  pool: true,
  schema: true,
  setup: true,
  lockTimeoutMs: true,
  queryTimeoutMs: true,
  statementTimeoutMs: true,
  idleInTransactionTimeoutMs: true,
}

/** Known options of each store. */
const OF_INBOX: Record<keyof PostgresInboxOptions, true> = { ...OF_OFFSETS, durability: true }
const KNOWN = {
  postgresInbox: OF_INBOX,
  postgresInboxSequences: { ...OF_INBOX, ...SEQUENCE_OPTIONS },
  postgresOffsets: OF_OFFSETS,
  postgresMigrations: OF_OFFSETS,
}

type UserOfPostgres = 'postgresInbox' | 'postgresInboxSequences' | 'postgresOffsets' | 'postgresMigrations'

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolvePostgres(options: PostgresInboxOptions, store: UserOfPostgres): ResolvedPostgres {
  refusePoolAsOptions(options, store)
  const given = givenOf(options)
  const { pool, schema, setup, lockTimeoutMs, queryTimeoutMs, idleInTransactionTimeoutMs, durability } = {
    ...DEFAULTS,
    ...given,
  }
  const { statementTimeoutMs } = given
  const problems = [...schemaProblems(schema)]
  checkNames<PostgresOffsetsOptions>('', given, { of: `${store}()`, known: KNOWN[store] }, problems)
  const max = maxOf(pool)
  const beside = durability === 'flush-ticker' ? 2 : 1
  if (!(max > beside)) {
    const what = `a transaction, and beside it short statements${beside === 1 ? '' : ' and the flush'}`
    problems.push(`pool: expected a pg Pool with max >= ${beside + 1} (${what}), got ${max}`)
  }
  if (durability !== 'commit' && durability !== 'flush-ticker') {
    problems.push(`durability: expected 'commit' or 'flush-ticker', got ${JSON.stringify(durability)}`)
  }
  const limits = { lockTimeoutMs, queryTimeoutMs, statementTimeoutMs, idleInTransactionTimeoutMs }
  const lockWait = { ms: lockTimeoutMs, unit: '' }
  problems.push(...commonProblems({ setup, limits, mayBeNone: ['idleInTransactionTimeoutMs'], lockWait }))
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${store}: ${problem}`))
  return Object.freeze({
    pool,
    transactions: max - beside,
    flushing: durability === 'flush-ticker' ? 'late' : 'at-once',
    setup,
    tables: tablesIn(schema),
    limits,
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
export function resolvePglite(options: PgliteInboxOptions, store: string): { db: PgliteLike; tables: Tables } {
  const given = givenOf(options)
  const { db, schema = DEFAULTS.schema } = given
  const problems = [...schemaProblems(schema)]
  if (typeof db?.transaction !== 'function') problems.push(`db: expected a PGlite, got ${typeof db}`)
  checkNames('', given, { of: `${store}()`, known: { db: true, schema: true } }, problems)
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${store}: ${problem}`))
  return { db, tables: tablesIn(schema) }
}

/** @throws ConfigError `CONFIG_INVALID` */
export function resolveTables(schema: string = DEFAULTS.schema, inboxPartitions?: number): Tables {
  const problems = schemaProblems(schema)
  if (
    inboxPartitions !== undefined &&
    !(Number.isSafeInteger(inboxPartitions) && inboxPartitions >= 2 && inboxPartitions <= 256)
  ) {
    problems.push(`inboxPartitions: expected a whole number from 2 to 256, got ${String(inboxPartitions)}`)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return tablesIn(schema, inboxPartitions)
}

/** Postgres silently cuts longer names at 63 bytes. */
export function schemaProblems(schema: unknown): string[] {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) return [] // mutant: identifiers-cut-at-63-bytes
  return [`schema: expected ^[a-z_][a-z0-9_]{0,62}$, not pg_, got ${JSON.stringify(schema)}`]
}
