import { StoreError } from '../../../src/internal.ts'
import { pendingOf, type MigrationRow, type Schema } from '../../sql/schema/migrations.ts'
import { MIGRATIONS } from './migrations.ts'
import type { PooledConnection } from '../sessions/pooled-connection.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { isBeforeTables } from '../sql-errors.ts'
import {
  createMigrationTable,
  lockMigrations,
  readMigrations,
  recordMigration,
  unlockMigrations,
} from './migration-table.ts'
import { lastRows } from '../statements/script.ts'
import type { Tables } from '../statements/tables.ts'
import { COMMIT } from '../statements/transaction.ts'

/** Another process's migration may take a while. Each request stays within `queryTimeoutMs`. */
const TRIES = 60
const WAIT_SECONDS = 1

export function schemaOf(tables: Tables): Schema<Tables, MysqlSessions> {
  return {
    migrations: MIGRATIONS,
    place: `database ${tables.database}`,
    printedBy: `mysqlMigrationSql({ database: '${tables.database}' })`,
    read: (sessions) => sessions.using((connection) => read(connection, tables)),
    run: (sessions) => sessions.using((connection) => run(connection, tables)),
  }
}

async function run(connection: PooledConnection, tables: Tables): Promise<void> {
  await lock(connection, tables)
  try {
    await ask(connection, createMigrationTable(tables))
    for (const migration of pendingOf(MIGRATIONS, await read(connection, tables))) {
      for (const statement of migration.statements(tables)) await ask(connection, statement)
      await ask(connection, recordMigration(tables, migration))
    }
  } finally {
    // The lock ends with the connection in any case.
    await ask(connection, unlockMigrations(tables)).catch((error: unknown) => connection.spoil(error))
  }
}

async function lock(connection: PooledConnection, tables: Tables): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const [row] = await ask<{ held: string | number | null }>(connection, lockMigrations(tables, WAIT_SECONDS))
    if (Number(row?.held) === 1) return
  }
  throw new StoreError('STORE_UNREACHABLE', `the tables in ${tables.database} are being migrated by another process`)
}

async function read(connection: PooledConnection, tables: Tables): Promise<readonly MigrationRow[]> {
  const rows = await ask<Readonly<Record<keyof MigrationRow, unknown>>>(connection, readMigrations(tables)).catch(
    (error: unknown) => {
      if (isBeforeTables(error)) return []
      throw error
    },
  )
  return rows.map(({ version, name, breaking }) => ({
    version: Number(version),
    name: String(name),
    breaking: Number(breaking) === 1,
  }))
}

/** Commits whatever `autocommit` is in the session. */
async function ask<Row>(connection: PooledConnection, statement: string): Promise<readonly Row[]> {
  return lastRows(await connection.run([statement, COMMIT], false)) as readonly Row[]
}
