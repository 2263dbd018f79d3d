import type { Migration } from '../../sql/schema/migrations.ts'
import { initialMigration } from './migration-0001-initial.ts'
import { outboxMigration } from './migration-0002-outbox.ts'
import { createMigrationTable, createSchema, lockMigrations, recordMigration } from './migration-table.ts'
import type { Tables } from '../statements/tables.ts'

/** In the order of their versions, without a gap. */
export const MIGRATIONS: readonly Migration<Tables>[] = [initialMigration, outboxMigration]

/** All migrations as plain SQL for a DBA, to run once on a database without the schema. */
export function migrationScript(tables: Tables): string {
  const steps = MIGRATIONS.flatMap((migration) => [
    ...migration.statements(tables),
    recordMigration(tables, migration).text,
  ])
  return `begin;
${lockMigrations(tables).text};
${createSchema(tables).text};
${createMigrationTable(tables).text};
${steps.join(';\n')};
commit;
`
}
