import type { Migration } from './migration.ts'
import { storesMigration } from './migration-0001-stores.ts'
import { sharedScopeMigration } from './migration-0002-shared-scope.ts'
import { leaseStoryMigration } from './migration-0003-lease-story.ts'
import { inboxStoryMigration } from './migration-0004-inbox-story.ts'
import { replayMigration } from './migration-0005-replay.ts'
import { retentionsMigration } from './migration-0006-retentions.ts'
import { ownEndMigration } from './migration-0007-own-end.ts'
import { createMigrationTable, recordMigration } from './migration-table.ts'
import type { Tables } from '../statements/tables.ts'

/** In the order of their versions, without a gap. */
export const MIGRATIONS: readonly Migration[] = [
  storesMigration,
  sharedScopeMigration,
  leaseStoryMigration,
  inboxStoryMigration,
  replayMigration,
  retentionsMigration,
  ownEndMigration,
]

export const NEWEST: number = MIGRATIONS.length

/** All migrations as plain SQL for a DBA, to run once on a database without the tables. */
export function migrationScript(tables: Tables): string {
  const steps = MIGRATIONS.flatMap((migration) => [...migration.statements(tables), recordMigration(tables, migration)])
  return [createMigrationTable(tables), ...steps].map((statement) => `${statement};\n`).join('\n')
}
