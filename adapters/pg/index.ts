import {
  inboxSequencesOver,
  optionsOf,
  SEQUENCES,
  sequencesOver,
  whole,
  type InboxStore,
  type LeaseStore,
  type OffsetsStore,
  type SequenceOptions,
  type Table,
} from '../../src/internal.ts'
import { checkFlush, checkServer } from './check-server.ts'
import { adminOf } from '../sql/admin.ts'
import { hexOfNumbered, NUMBERED_KEYS } from '../sql/bytes.ts'
import { sqlLease } from '../sql/lease-store.ts'
import { LEASE_ADMIN } from '../sql/lease/admin.ts'
import { claimLeases } from './lease/claim.ts'
import { release, renew, setAside } from './lease/endings.ts'
import { mark } from './lease/mark.ts'
import { readInboxSources, swapInboxSources } from './inbox/statements/sequences.ts'
import { PgSequenceLedger } from './lease/sequence-ledger.ts'
import { readSources, swapSources } from './lease/statements/sequences.ts'
import { ERRORS } from './sql-errors.ts'
import { migrate } from './schema/migrate.ts'
import { migrationScript } from './schema/migrations.ts'
import {
  INBOX,
  LEASE,
  OFFSETS,
  PGLITE,
  poolOptions,
  SCHEMA,
  type PgliteInboxOptions,
  type PgliteLeaseOptions,
  type PoolOptions,
  type PostgresInboxOptions,
  type PostgresLeaseOptions,
  type PostgresMigrationSqlOptions,
  type PostgresOffsetsOptions,
} from './options.ts'
import type { PgTransaction } from './tx/pg-transaction.ts'
import { PgliteSessions } from './sessions/pglite-sessions.ts'
import { tablesIn } from './statements/tables.ts'
import { SQL } from '../sql/options.ts'
import { idleLimitOf } from '../sql/idle-end.ts'
import { outboxGiven } from '../sql/outbox/outbox.ts'
import { sqlInbox } from '../sql/inbox/store.ts'
import type { StoreParts } from '../sql/transaction-store.ts'
import { pgOffsets } from './offsets/store.ts'
import { checkup } from './checkup.ts'
import { databaseOf, flushingOf, sessionsOn, type PgParts, type PgPlace } from './database.ts'

export type { ClientLike, ClientResult, PgliteLike, PgliteResult, PoolLike } from './clients.ts'
export type {
  PgliteInboxOptions,
  PgliteLeaseOptions,
  PostgresInboxOptions,
  PostgresLeaseOptions,
  PostgresMigrationSqlOptions,
  PostgresMigrationsOptions,
  PostgresOffsetsOptions,
} from './options.ts'
export {
  postgresDoneChannel,
  type ListenClientLike,
  type ListenPoolLike,
  type PostgresDoneChannel,
  type PostgresDoneChannelOptions,
} from './done-channel.ts'
export { pgClient, type PgClient } from './tx/pg-client.ts'
export { postgresOutbox } from './outbox/postgres-outbox.ts'
export type { OutboxOptions, OutboxPublisher, QueryLike, SqlOutbox } from '../sql/outbox/types.ts'
export type { PostgresOutbox, PostgresOutboxOptions } from './outbox/types.ts'
export { postgresMigrations } from './schema/postgres-migrations.ts'
export type { PgQuery, PgResult, PgTransaction } from './tx/pg-transaction.ts'

/**
 * An inbox in Postgres (13 or newer): effect and mark commit in one transaction. Handlers get the transaction as
 * `ctx.tx`. Writes through it commit once; other effects may happen more than once. Marks are flushed whatever
 * `synchronous_commit` says. With `fsync = off`, or after a failover to an asynchronous replica, the server can lose a
 * mark together with its effect after the message was settled.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresInbox(options: PostgresInboxOptions): InboxStore<PgTransaction> {
  return sqlInbox(partsOf(onPool(poolOptions('postgresInbox', INBOX, options)), 'inbox'))
}

/**
 * Stored offsets in Postgres (13 or newer), for Kafka with `order: 'partition'`: effect and position commit in one
 * transaction, and each partition has one row, however many messages it has. A redelivery is below the position, so
 * writes through `ctx.tx` commit once. A message that its producer sends again has another offset and is handled again;
 * use `postgresInbox` if that can happen. Consumers begin at the stored position and ignore the committed offsets of
 * the group, so a restored database continues from its own state.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresOffsets(options: PostgresOffsetsOptions): OffsetsStore<PgTransaction> {
  return pgOffsets(partsOf(onPool(poolOptions('postgresOffsets', OFFSETS, options)), 'offsets'))
}

/**
 * The same inbox on an embedded PGlite, for quick starts and tests: one process, one transaction at a time, on the
 * caller's event loop, not synced to disk. Not for production.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function pgliteInbox(options: PgliteInboxOptions): InboxStore<PgTransaction> {
  return sqlInbox(partsOf(onPglite('pgliteInbox', options), 'inbox'))
}

/**
 * Leases in a table of Postgres (13 or newer), for effects outside of the database when there is no Redis. A claim
 * holds until its lease ends. A mark that is lost becomes a duplicate, never a lost message. Claims and marks are
 * flushed before they are answered, whatever `synchronous_commit` says, so claims survive a crash of the database
 * server. Fences grow while the record lives, and start at 1 again after its retention ended.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function postgresLease(options: PostgresLeaseOptions): LeaseStore {
  return leaseOf(onPool(poolOptions('postgresLease', LEASE, options), LOST_LEASES))
}

const LEASE_SEQUENCES: Table<PostgresSequencesOptions> = { ...LEASE, ...SEQUENCES }
const INBOX_SEQUENCES: Table<PostgresInboxSequencesOptions, 'statementTimeoutMs' | 'outbox'> = {
  ...INBOX,
  ...SEQUENCES,
}

export interface PostgresSequencesOptions extends PostgresLeaseOptions, SequenceOptions {}

/**
 * Leases on Postgres (13 or newer) that keep one row for each source of numbered messages, instead of one for each
 * message that is done (docs/guards.md). For consumers with `id: messageId.sourceSequence()`. In the table of
 * `postgresLease`, under other keys.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function postgresSequences(options: PostgresSequencesOptions): LeaseStore {
  const all = poolOptions('postgresSequences', LEASE_SEQUENCES, options)
  return leaseOf(onPool(all, LOST_LEASES), all)
}

export interface PostgresInboxSequencesOptions extends PostgresInboxOptions, SequenceOptions {}

/**
 * An inbox in Postgres (13 or newer) that keeps one row for each source of numbered messages, instead of one for each
 * message that is done (docs/guards.md): effect and mark commit in one transaction, and handlers get it as `ctx.tx`.
 * For consumers with `id: messageId.sourceSequence()`. In the table of `postgresInbox`, under other keys.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function postgresInboxSequences(options: PostgresInboxSequencesOptions): InboxStore<PgTransaction> {
  const all = poolOptions('postgresInboxSequences', INBOX_SEQUENCES, options)
  const inbox = partsOf(onPool(all), 'inbox')
  const ledger = new PgSequenceLedger(inbox.database, { read: readInboxSources, swap: swapInboxSources })
  return inboxSequencesOver(sqlInbox(inbox, NUMBERED_KEYS), ledger, { ...all, name: 'postgres-inbox-sequences' })
}

/**
 * The same leases on an embedded PGlite, for quick starts and tests: one process, one statement at a time, on the
 * caller's event loop, not synced to disk. Not for production.
 *
 * @throws ConfigError `CONFIG_INVALID`, with all problems at once
 */
export function pgliteLease(options: PgliteLeaseOptions): LeaseStore {
  return leaseOf(onPglite('pgliteLease', options))
}

const MIGRATION_SQL: Table<PostgresMigrationSqlOptions, 'inboxPartitions'> = {
  schema: SCHEMA,
  inboxPartitions: whole({ least: 2, most: 256 }),
}

/**
 * The schema as plain SQL, for a DBA. Run it once, before `setup: 'check'`.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function postgresMigrationSql(options: PostgresMigrationSqlOptions = {}): string {
  const { schema, inboxPartitions } = optionsOf('postgresMigrationSql', MIGRATION_SQL, options)
  return migrationScript(tablesIn(schema, inboxPartitions))
}

function leaseOf(parts: PgParts, sequences?: Required<SequenceOptions>): LeaseStore {
  const database = databaseOf(parts, 'lease')
  const admin = adminOf(ERRORS, database, LEASE_ADMIN, hexOfNumbered)
  const calls = { claim: claimLeases, renew, mark, release, setAside }
  const lease = sqlLease({
    name: 'postgres-lease',
    errors: ERRORS,
    database,
    calls,
    admin,
    checkup: () => checkup(parts, 'lease'),
  })
  if (sequences === undefined) return lease
  const ledger = new PgSequenceLedger(database, { read: readSources, swap: swapSources })
  return sequencesOver(lease, ledger, { ...sequences, name: 'postgres-sequences' })
}

function partsOf(parts: PgParts, strategy: 'inbox' | 'offsets'): StoreParts<PgTransaction, PgPlace> {
  const { sessions, lockTimeoutMs } = parts
  const database = databaseOf(parts, strategy)
  const { idleLimit } = parts
  return {
    name: `postgres-${strategy}`,
    sessions,
    lockTimeoutMs,
    database,
    checkup: () => checkup(parts, strategy),
    idleLimit,
    outbox: parts.outbox,
  }
}

function onPglite(store: string, options: PgliteInboxOptions): PgParts {
  const { pglite, schema } = optionsOf(store, PGLITE, options)
  const [sessions, tables] = [new PgliteSessions(pglite), tablesIn(schema)]
  const prepare = (): Promise<void> => migrate(sessions, tables, 'auto')
  return { sessions, tables, lockTimeoutMs: SQL.lockTimeoutMs.default, flushing: 'at-once', prepare }
}

const LOST_LEASES = 'marks are lost, and their messages handled again'

/** `loss`: what a crash of a server costs that does not flush. */
function onPool(options: PoolOptions, loss: string = 'marks are lost with their effects'): PgParts {
  const { schema, durability, lockTimeoutMs, idleInTransactionTimeoutMs = 0, setup, outbox } = options
  const [sessions, tables, flushing] = [sessionsOn(options), tablesIn(schema), flushingOf(durability)]
  const prepare = async (): Promise<void> => {
    if (flushing === 'late') await checkFlush(sessions)
    const { fsync } = await checkServer(sessions)
    if (!fsync) {
      const text = `Postgres runs with fsync = off: when its machine crashes, ${loss}`
      process.emitWarning(text, { code: 'CONSUME_ONCE_FSYNC_OFF' })
    }
    await migrate(sessions, tables, setup)
  }
  const idleLimit = idleLimitOf(idleInTransactionTimeoutMs)
  return {
    sessions,
    tables,
    lockTimeoutMs,
    idleLimit,
    flushing,
    prepare,
    outbox: outbox && outboxGiven('postgresInbox', outbox, 'postgresOutbox', schema),
  }
}
