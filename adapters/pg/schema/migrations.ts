import type { Migration } from './migration.ts'
import { initialMigration } from './migration-0001-initial.ts'
import { createMigrationTable, createSchema, lockMigrations, recordMigration } from './migration-table.ts'
import type { Tables } from '../statements/tables.ts'

/** In the order of their versions, without a gap. */
export const MIGRATIONS: readonly Migration[] = [initialMigration]

/** The version of the last migration. */
export function newest(): number {
  return MIGRATIONS.at(-1)?.version ?? 0
}

/** All migrations as plain SQL for a DBA, to run once on a database without the schema. */
export function migrationScript(tables: Tables): string {
  const steps = MIGRATIONS.map((migration) => `${migration.sql(tables)}\n${recordMigration(tables, migration).text};`)
  return `begin;
${lockMigrations(tables).text};
${createSchema(tables).text};
${createMigrationTable(tables).text};
${steps.join('\n')}
commit;
`
}
