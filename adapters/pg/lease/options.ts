import { needed, optionsOf, or, type Complete, type DurationMs, type Table } from '../../../src/internal.ts'
import { problemsOfLockWait, SQL } from '../../sql/options.ts'
import type { PgliteLike, PoolLike } from '../clients.ts'
import { maxOf, POOL, refusePoolAsOptions, SCHEMA } from '../options.ts'
import { tablesIn, type Tables } from '../statements/tables.ts'

export interface PostgresLeaseOptions {
  /**
   * A `Pool` of `pg`. You close it. Each call takes one connection for one statement, and no transaction stays open.
   * Other users of the pool must leave a connection free in time, or leases are renewed too late. The pool must connect
   * to the primary, not to a replica.
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
   * How long a call waits for another call about one of its keys, in milliseconds. A claim then answers `busy`; any
   * other call is made again. Must be less than `queryTimeoutMs`.
   * @defaultValue 1000
   */
  readonly lockTimeoutMs?: DurationMs
  /**
   * How long the store waits for an answer, or for a connection, in milliseconds. After that it closes the connection,
   * the answer counts as unknown, and the same call is made again. Keep it below a third of the lease.
   * @defaultValue 5000
   */
  readonly queryTimeoutMs?: DurationMs
}

export interface PgliteLeaseOptions {
  /** A `PGlite`. You close it. It has one connection, so a call waits for everything else that runs on it. */
  readonly db: PgliteLike
  /**
   * As for `postgresLease`.
   * @defaultValue `consume_once`
   */
  readonly schema?: string
}

export const LEASE: Table<PostgresLeaseOptions> = {
  pool: needed(POOL),
  schema: SCHEMA,
  setup: SQL.setup,
  lockTimeoutMs: SQL.lockTimeoutMs,
  queryTimeoutMs: or(5_000, SQL.queryTimeoutMs),
}

export interface ResolvedLease {
  readonly pool: PoolLike
  readonly max: number
  readonly setup: 'auto' | 'check'
  readonly tables: Tables
  readonly limits: { readonly lockTimeoutMs: DurationMs; readonly queryTimeoutMs: DurationMs }
}

/** @throws ConfigError `CONFIG_INVALID`, with all problems at once */
export function resolveLease<Given extends PostgresLeaseOptions>(
  store: string,
  table: Table<Given>,
  options: Given,
): { readonly resolved: ResolvedLease; readonly options: Complete<Given> } {
  refusePoolAsOptions(options, store)
  const all = optionsOf(store, table, options, (given, problems) => problemsOf(given as unknown as Checked, problems))
  const { pool, schema, setup, lockTimeoutMs, queryTimeoutMs } = all as unknown as Checked
  const limits = { lockTimeoutMs, queryTimeoutMs }
  return {
    resolved: Object.freeze({ pool, max: maxOf(pool), setup, tables: tablesIn(schema), limits }),
    options: all,
  }
}

type Checked = Complete<PostgresLeaseOptions>

function problemsOf(options: Checked, problems: string[]): void {
  const max = maxOf(options.pool)
  if (!(max >= 1)) problems.push(`pool: expected a pg Pool with max >= 1, got ${max}`)
  problemsOfLockWait(options, { ms: options.lockTimeoutMs, unit: '' }, problems)
}
