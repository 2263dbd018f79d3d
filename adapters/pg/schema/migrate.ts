import { ConfigError } from '../../../src/spi.ts'
import { checkKeys } from './check-keys.ts'
import { MIGRATIONS, newest } from './migrations.ts'
import type { PgSession, PgSessions } from '../sessions/session.ts'
import { isConflictOfTransactions, isLockTimeout } from '../sql-errors.ts'
import {
  createMigrationTable,
  createSchema,
  findSchema,
  lockMigrations,
  readVersion,
  recordMigration,
  type SchemaRow,
  type VersionRow,
} from './migration-table.ts'
import type { Migration } from './migration.ts'
import type { Script } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'

/** How often the lock is requested, for `lockTimeoutMs` each time: another process's migration takes a while. */
const TRIES = 30

/** How long a migration waits for a lock on a table in use; later statements wait behind it. */
const DDL_LOCK_TIMEOUT = '5s'

/**
 * Brings the schema up to date, or only checks it. Any number of processes may call it at once.
 *
 * @throws ConfigError `CONFIG_INVALID` if the schema is out of date and may not be changed, is too new for this code,
 * or lacks an index that keeps keys unique
 */
export async function migrate(sessions: PgSessions, tables: Tables, mode: 'auto' | 'check'): Promise<void> {
  for (let tries = 0; (await versionOf(sessions, tables)) < newest();) {
    if (mode === 'check') throw new ConfigError([outOfDate(tables)])
    try {
      await migrateOnce(sessions, tables)
    } catch (error) {
      if (!(isLockTimeout(error) || isConflictOfTransactions(error)) || ++tries === TRIES) throw error
    }
  }
  await checkKeys(sessions, tables)
}

async function migrateOnce(sessions: PgSessions, tables: Tables): Promise<void> {
  const { session } = await sessions.begin(lockMigrations(tables))
  try {
    const [next] = await pendingIn(session, tables)
    if (next === undefined) return await session.rollback()
    await session.run(stepOf(tables, next))
    await session.commit([recordMigration(tables, next)])
  } catch (error) {
    await session.rollback()
    throw error
  }
}

/** Runs all pending migrations in one transaction that is rolled back. */
export async function rehearse(sessions: PgSessions, tables: Tables): Promise<readonly Migration[]> {
  const { session } = await sessions.begin(lockMigrations(tables))
  try {
    const pending = await pendingIn(session, tables)
    for (const next of pending) await session.run(stepOf(tables, next))
    return pending
  } finally {
    await session.rollback()
  }
}

/** After the lock is taken: reads the schema again, and creates the table of migrations. */
async function pendingIn(session: PgSession, tables: Tables): Promise<readonly Migration[]> {
  const { schema, migration } = await find(session, tables)
  if (schema === null) await session.run(createSchema(tables))
  if (migration === null) await session.run(createMigrationTable(tables))
  const { version } = await read(session, tables)
  return MIGRATIONS.filter((known) => known.version > version)
}

function stepOf(tables: Tables, { sql }: Migration): Script {
  return { text: `set local lock_timeout = '${DDL_LOCK_TIMEOUT}';\n${sql(tables)}` }
}

async function versionOf(sessions: PgSessions, tables: Tables): Promise<number> {
  const asked = { run: sessions.committed.bind(sessions) }
  if ((await find(asked, tables)).migration === null) return 0
  const { version, breaking } = await read(asked, tables)
  if (breaking > newest()) {
    const text = `schema ${tables.schema}: expected no breaking migration after ${newest()}, got ${breaking}: update consume-once`
    throw new ConfigError([text])
  }
  return version
}

export type Asked = Pick<PgSession, 'run'>

export async function find(asked: Asked, tables: Tables): Promise<SchemaRow> {
  const [row] = await asked.run(findSchema(tables))
  return row ?? { schema: null, migration: null }
}

async function read(asked: Asked, tables: Tables): Promise<VersionRow> {
  const [row] = await asked.run(readVersion(tables))
  return row ?? { version: 0, breaking: 0 }
}

function outOfDate({ schema }: Tables): string {
  const missing = MIGRATIONS.map(({ name, version }) => `${version} ${name}`).join(', ')
  return (
    `schema ${schema}: expected version ${newest()} (${missing}), got an older one or none. Run the SQL of ` +
    `postgresMigrationSql({ schema: '${schema}' }), or open it once with setup: 'auto' in a role that may create tables`
  )
}
