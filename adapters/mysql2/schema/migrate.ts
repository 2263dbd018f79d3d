import { ConfigError, StoreError } from '../../../src/spi.ts'
import { MIGRATIONS, newest } from './migrations.ts'
import type { PooledConnection } from '../sessions/pooled-connection.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { errnoOf, NO_SUCH_TABLE } from '../sql-errors.ts'
import {
  createMigrationTable,
  lockMigrations,
  readVersion,
  recordMigration,
  unlockMigrations,
  type VersionRow,
} from './migration-table.ts'
import { lastRows } from '../statements/script.ts'
import type { Tables } from '../statements/tables.ts'
import { COMMIT } from '../statements/transaction.ts'

/** Another process's migration may take a while. Each request stays within `queryTimeoutMs`. */
const TRIES = 60
const WAIT_SECONDS = 1

/**
 * Brings the tables up to date, or only checks them. Any number of processes may call it at once.
 *
 * @throws ConfigError `CONFIG_INVALID` if the tables are out of date and may not be changed, or are too new for this
 * code
 */
export async function migrate(sessions: MysqlSessions, tables: Tables, mode: 'auto' | 'check'): Promise<void> {
  await sessions.using(async (connection) => {
    if ((await versionOf(connection, tables)) >= newest()) return
    if (mode === 'check') throw new ConfigError([outOfDate(tables)])
    await lock(connection, tables)
    try {
      await ask(connection, createMigrationTable(tables))
      // Read the version again, with the lock.
      const version = await versionOf(connection, tables)
      for (const migration of MIGRATIONS) {
        if (migration.version <= version) continue
        for (const statement of migration.statements(tables)) await ask(connection, statement)
        await ask(connection, recordMigration(tables, migration))
      }
    } finally {
      // The lock ends with the connection in any case.
      await ask(connection, unlockMigrations(tables)).catch((error: unknown) => connection.spoil(error))
    }
  })
}

async function lock(connection: PooledConnection, tables: Tables): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const [row] = await ask<{ held: string | number | null }>(connection, lockMigrations(tables, WAIT_SECONDS))
    if (Number(row?.held) === 1) return
  }
  throw new StoreError('STORE_UNREACHABLE', `the tables in ${tables.database} are being migrated by another process`)
}

async function versionOf(connection: PooledConnection, tables: Tables): Promise<number> {
  const rows = await ask<VersionRow>(connection, readVersion(tables)).catch((error: unknown) => {
    if (errnoOf(error) === NO_SUCH_TABLE) return []
    throw error
  })
  const version = Number(rows[0]?.version ?? 0)
  const breaking = Number(rows[0]?.breaking ?? 0)
  if (breaking > newest()) {
    const text = `database ${tables.database}: expected no breaking migration after ${newest()}, got ${breaking}: update consume-once`
    throw new ConfigError([text])
  }
  return version
}

/** Commits whatever `autocommit` is in the session. */
async function ask<Row>(connection: PooledConnection, statement: string): Promise<readonly Row[]> {
  return lastRows(await connection.run([statement, COMMIT], false)) as readonly Row[]
}

function outOfDate({ database }: Tables): string {
  const missing = MIGRATIONS.map(({ name, version }) => `${version} ${name}`).join(', ')
  return (
    `database ${database}: expected tables of consume-once of version ${newest()} (${missing}), got older ones or none. Run the ` +
    `SQL of mysqlMigrationSql({ database: '${database}' }), or open it once with setup: 'auto' as a user who may create tables`
  )
}
