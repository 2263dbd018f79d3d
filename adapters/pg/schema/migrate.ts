import { refuseMissingKeys } from '../../sql/schema/keys.ts'
import { bringUp, pendingOf, type Migration, type MigrationRow, type Schema } from '../../sql/schema/migrations.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PgSession, PgSessions } from '../sessions/session.ts'
import { isConflictOfTransactions, isLockTimeout } from '../sql-errors.ts'
import { findMissingKeys } from './find-keys.ts'
import {
  createMigrationTable,
  createSchema,
  findSchema,
  lockMigrations,
  readMigrations,
  recordMigration,
} from './migration-table.ts'
import type { Script } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'

/** How often the lock is requested, for `lockTimeoutMs` each time: another process's migration takes a while. */
const TRIES = 30

/** How long a migration waits for a lock on a table in use; later statements wait behind it. */
const DDL_LOCK_TIMEOUT = '5s'

export function schemaOf(tables: Tables): Schema<Tables, PgSessions> {
  return {
    migrations: MIGRATIONS,
    place: `schema ${tables.schema}`,
    printedBy: `postgresMigrationSql({ schema: '${tables.schema}' })`,
    async read(sessions) {
      const [row] = await sessions.committed(findSchema(tables))
      return row?.migration == null ? [] : sessions.committed(readMigrations(tables))
    },
    async run(sessions) {
      for (let tries = 0; ;) {
        try {
          if (!(await runNext(sessions, tables))) return
        } catch (error) {
          if (!(isLockTimeout(error) || isConflictOfTransactions(error)) || ++tries === TRIES) throw error
        }
      }
    },
  }
}

/**
 * Brings the schema up to date, or only checks it. Any number of processes may call it at once.
 *
 * @throws ConfigError `CONFIG_INVALID` as `bringUp`, or if the schema lacks an index that keeps keys unique
 */
export async function migrate(sessions: PgSessions, tables: Tables, mode: 'auto' | 'check'): Promise<void> {
  await bringUp(schemaOf(tables), sessions, mode)
  refuseMissingKeys(tables.schema, await sessions.committed(findMissingKeys(tables)))
}

/** False: nothing is pending. */
async function runNext(sessions: PgSessions, tables: Tables): Promise<boolean> {
  const { session } = await sessions.begin(lockMigrations(tables))
  try {
    const [next] = await pendingIn(session, tables)
    if (next === undefined) {
      await session.rollback()
      return false
    }
    await session.run(stepOf(tables, next))
    await session.commit([recordMigration(tables, next)])
    return true
  } catch (error) {
    await session.rollback()
    throw error
  }
}

/** Runs all pending migrations in one transaction that is rolled back. */
export async function rehearse(sessions: PgSessions, tables: Tables): Promise<void> {
  const { session } = await sessions.begin(lockMigrations(tables))
  try {
    for (const next of await pendingIn(session, tables)) await session.run(stepOf(tables, next))
  } finally {
    await session.rollback()
  }
}

/** After the lock is taken: creates the table of migrations, and reads it. */
async function pendingIn(session: PgSession, tables: Tables): Promise<readonly Migration<Tables>[]> {
  const [found] = await session.run(findSchema(tables))
  if (found?.schema == null) await session.run(createSchema(tables))
  if (found?.migration == null) await session.run(createMigrationTable(tables))
  const rows: readonly MigrationRow[] = await session.run(readMigrations(tables))
  return pendingOf(MIGRATIONS, rows)
}

function stepOf(tables: Tables, { statements }: Migration<Tables>): Script {
  return { text: [`set local lock_timeout = '${DDL_LOCK_TIMEOUT}'`, ...statements(tables)].join(';\n') }
}
