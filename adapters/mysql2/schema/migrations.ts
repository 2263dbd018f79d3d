import type { Migration } from '../../sql/schema/migrations.ts'
import { initialMigration } from './migration-0001-initial.ts'
import { outboxMigration } from './migration-0002-outbox.ts'
import { createMigrationTable, recordMigration } from './migration-table.ts'
import type { Tables } from '../statements/tables.ts'

/** In the order of their versions, without a gap. */
export const MIGRATIONS: readonly Migration<Tables>[] = [initialMigration, outboxMigration]

/** All migrations as plain SQL for a DBA, to run once on a database without the tables. */
export function migrationScript(tables: Tables): string {
  const steps = MIGRATIONS.flatMap((migration) => [...migration.statements(tables), recordMigration(tables, migration)])
  return [createMigrationTable(tables), ...steps].map((statement) => `${statement};\n`).join('\n')
}
