import type { Migration } from './sql/migration.ts'
import { inboxMigration } from './sql/migration-0001-inbox.ts'
import { positionMigration } from './sql/migration-0002-position.ts'
import { resultMigration } from './sql/migration-0003-result.ts'
import { leaseMigration } from './sql/migration-0004-lease.ts'
import { asideMigration } from './sql/migration-0005-aside.ts'
import { sharedScopeMigration } from './sql/migration-0006-shared-scope.ts'
import { leaseStoryMigration } from './sql/migration-0007-lease-story.ts'
import { holdMigration } from './sql/migration-0008-hold.ts'
import { inboxStoryMigration } from './sql/migration-0009-inbox-story.ts'
import { begunMigration } from './sql/migration-0010-begun.ts'
import { createMigrationTable, createSchema, lockMigrations, recordMigration } from './sql/migration-table.ts'
import type { Tables } from './sql/tables.ts'

/** In the order of their versions, without a gap. */
export const MIGRATIONS: readonly Migration[] = [
  inboxMigration,
  positionMigration,
  resultMigration,
  leaseMigration,
  asideMigration,
  sharedScopeMigration,
  leaseStoryMigration,
  holdMigration,
  inboxStoryMigration,
  begunMigration,
]

export const NEWEST: number = Math.max(...MIGRATIONS.map(({ version }) => version))

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
