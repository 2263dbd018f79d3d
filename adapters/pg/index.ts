import type { Store } from '../../src/index.ts'
import { checkFlush, checkServer } from './check-server.ts'
import { InboxClaims } from './inbox-claim.ts'
import { LeaseStore } from './lease/lease-store.ts'
import { DEFAULTS as LEASE, resolveLease, type PgliteLeaseOptions, type PostgresLeaseOptions } from './lease/options.ts'
import { migrate } from './migrate.ts'
import { migrationScript } from './migrations.ts'
import { claimOfOffsets } from './offsets-claim.ts'
import {
  DEFAULTS,
  resolvePglite,
  resolvePostgres,
  resolveTables,
  type PgliteInboxOptions,
  type PostgresInboxOptions,
  type PostgresOffsetsOptions,
  type ResolvedPostgres,
} from './options.ts'
import type { PgTransaction } from './pg-transaction.ts'
import { PgliteSessions } from './pglite-sessions.ts'
import { PoolSessions } from './pool-sessions.ts'
import type { Sessions } from './session.ts'
import type { Tables } from './sql/tables.ts'
import { TransactionStore } from './transaction-store.ts'

export type { ClientLike, ClientResult, PgliteLike, PgliteResult, PoolLike } from './clients.ts'
export type { PgliteLeaseOptions, PostgresLeaseOptions } from './lease/options.ts'
export type { PgliteInboxOptions, PostgresInboxOptions, PostgresOffsetsOptions } from './options.ts'
export { pgClient, type PgClient } from './pg-client.ts'
export { postgresMigrations, type PostgresMigrationsOptions } from './postgres-migrations.ts'
export type { PgQuery, PgResult, PgTransaction } from './pg-transaction.ts'

/**
 * Effect and mark in one transaction of Postgres (13 or newer): handlers get it as `ctx.tx`, and what they write through it
 * commits once. Effects outside of it may happen more than once. Whatever `synchronous_commit` says, marks are flushed; with
 * `fsync = off`, or after a failover to an asynchronous replica, a mark is lost with its effect, after the settle.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresInbox(options: PostgresInboxOptions): Store<PgTransaction> {
  const claims = new InboxClaims()
  return new TransactionStore({
    strategy: 'inbox',
    claim: (...asked) => claims.claim(...asked),
    ...onPool(resolvePostgres(options, 'postgresInbox')),
  })
}

/**
 * Effect and position in one transaction of Postgres (13 or newer), for Kafka with `order: 'partition'`: one row for each
 * partition, however many messages it has. A redelivery is below the position, so what handlers write through `ctx.tx` commits
 * once; a message that its sender sends again has another offset, and its effect again: there use `postgresInbox`. Consumers
 * begin at the stored position, whatever the group has committed: a database that was restored goes on from where it is.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresOffsets(options: PostgresOffsetsOptions): Store<PgTransaction> {
  return new TransactionStore({
    strategy: 'offsets',
    claim: claimOfOffsets,
    ...onPool(resolvePostgres(options, 'postgresOffsets')),
  })
}

/**
 * The same inbox on an embedded PGlite, for quick starts and tests: one process, one transaction at a time, on the caller's
 * event loop, and not synced to disk. Never for production.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function pgliteInbox(options: PgliteInboxOptions): Store<PgTransaction> {
  const { db, tables } = resolvePglite(options, 'pgliteInbox')
  const sessions = new PgliteSessions(db)
  const claims = new InboxClaims()
  return new TransactionStore({
    strategy: 'inbox',
    claim: (...asked) => claims.claim(...asked),
    sessions,
    tables,
    lockTimeoutMs: DEFAULTS.lockTimeoutMs,
    flushing: 'at-once',
    prepare: () => migrate(sessions, tables, 'auto'),
  })
}

/**
 * Leases in a table of Postgres (13 or newer), for effects outside of it where there is no Redis: a claim holds by time, and a
 * mark that is lost becomes a duplicate, never a lost message. Claims and marks are flushed before they are answered, whatever
 * `synchronous_commit` says: what a worker was at is known, or in doubt, after a crash of the server too. Fences grow while the
 * record lives, and start at 1 again once its retention has ended.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresLease(options: PostgresLeaseOptions): Store {
  const { pool, max, limits, tables, migrate: mode } = resolveLease(options)
  const sessions = new PoolSessions(
    pool,
    Math.max(1, max - 1),
    {
      ...limits,
      statementTimeoutMs: undefined,
      idleInTransactionTimeoutMs: DEFAULTS.idleInTransactionTimeoutMs,
    },
    'at-once',
  )
  return new LeaseStore({
    sessions,
    tables,
    lockTimeoutMs: limits.lockTimeoutMs,
    prepare: () => prepare(sessions, tables, mode, 'marks are lost, and their messages handled again'),
  })
}

/**
 * The same leases on an embedded PGlite, for quick starts and tests: one process, one statement at a time, on the caller's event
 * loop, and not synced to disk. Never for production.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function pgliteLease(options: PgliteLeaseOptions): Store {
  const { db, tables } = resolvePglite(options, 'pgliteLease')
  const sessions = new PgliteSessions(db)
  const { lockTimeoutMs } = LEASE
  return new LeaseStore({ sessions, tables, lockTimeoutMs, prepare: () => migrate(sessions, tables, 'auto') })
}

export interface MigrationSqlOptions {
  /** As for `postgresInbox`. @defaultValue `consume_once` */
  readonly schema?: string
  /**
   * Partitions of the inbox, by hash of the key, from 2 to 256: for tables that many processes write at once. They do nothing
   * for retention, and a batch looks into all of them. It cannot be changed later. @defaultValue none
   */
  readonly inboxPartitions?: number
}

/** The schema as plain SQL, for a DBA: to be run once, before `migrate: 'verify'`. @throws ConfigError `CONFIG_INVALID` */
export function migrationSql({ schema, inboxPartitions }: MigrationSqlOptions = {}): string {
  return migrationScript(resolveTables(schema, inboxPartitions))
}

function onPool({
  pool,
  transactions,
  flushing,
  limits,
  tables,
  migrate: mode,
}: ResolvedPostgres): Omit<ConstructorParameters<typeof TransactionStore>[0], 'strategy' | 'claim'> {
  const sessions = new PoolSessions(pool, transactions, limits, flushing)
  return {
    sessions,
    tables,
    lockTimeoutMs: limits.lockTimeoutMs,
    flushing,
    prepare: async () => {
      if (flushing === 'late') await checkFlush(sessions)
      await prepare(sessions, tables, mode, 'marks are lost with their effects')
    },
  }
}

async function prepare(sessions: Sessions, tables: Tables, mode: 'auto' | 'verify', loss: string): Promise<void> {
  const { fsync } = await checkServer(sessions)
  if (!fsync) {
    const text = `Postgres runs with fsync = off: when its machine crashes, ${loss}`
    process.emitWarning(text, { code: 'CONSUME_ONCE_FSYNC_OFF' })
  }
  await migrate(sessions, tables, mode)
}
