import { checkNames, ConfigError, givenOf, SEQUENCE_OPTIONS, type DurationMs } from '../../../src/spi.ts'
import { commonProblems } from '../../sql/options.ts'
import type { PgliteLike, PoolLike } from '../clients.ts'
import { DEFAULTS as INBOX, maxOf, refusePoolAsOptions, schemaProblems } from '../options.ts'
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

/** The only place that defines defaults of leases. */
export const DEFAULTS: Required<Omit<PostgresLeaseOptions, 'pool'>> = {
  schema: INBOX.schema,
  setup: INBOX.setup,
  lockTimeoutMs: INBOX.lockTimeoutMs,
  queryTimeoutMs: 5_000,
}

const OF_LEASE: Record<keyof PostgresLeaseOptions, true> = {
  pool: true,
  schema: true,
  setup: true,
  lockTimeoutMs: true,
  queryTimeoutMs: true,
}

/** Known options of each store. */
const KNOWN = { postgresLease: OF_LEASE, postgresSequences: { ...OF_LEASE, ...SEQUENCE_OPTIONS } }

interface ResolvedLease {
  readonly pool: PoolLike
  readonly max: number
  readonly setup: 'auto' | 'check'
  readonly tables: Tables
  readonly limits: { readonly lockTimeoutMs: DurationMs; readonly queryTimeoutMs: DurationMs }
}

/** Checks every bound and relation and reports all problems in one error. @throws ConfigError `CONFIG_INVALID` */
export function resolveLease(
  options: PostgresLeaseOptions,
  store: 'postgresLease' | 'postgresSequences',
): ResolvedLease {
  refusePoolAsOptions(options, store)
  const given = givenOf(options)
  const { pool, schema, setup, lockTimeoutMs, queryTimeoutMs } = { ...DEFAULTS, ...given }
  const problems = [...schemaProblems(schema)]
  checkNames('', given, { of: `${store}()`, known: KNOWN[store] }, problems)
  const max = maxOf(pool)
  if (!(max >= 1)) problems.push(`pool: expected a pg Pool with max >= 1, got ${max}`)
  const limits = { lockTimeoutMs, queryTimeoutMs }
  problems.push(...commonProblems({ setup, limits, lockWait: { ms: lockTimeoutMs, unit: '' } }))
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${store}: ${problem}`))
  return Object.freeze({ pool, max, setup, tables: tablesIn(schema), limits })
}
