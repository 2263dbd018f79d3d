import type { Migration } from './migration.ts'
import { inboxMigration } from './migration-0001-inbox.ts'
import { positionMigration } from './migration-0002-position.ts'
import { resultMigration } from './migration-0003-result.ts'
import { leaseMigration } from './migration-0004-lease.ts'
import { asideMigration } from './migration-0005-aside.ts'
import { sharedScopeMigration } from './migration-0006-shared-scope.ts'
import { leaseStoryMigration } from './migration-0007-lease-story.ts'
import { holdMigration } from './migration-0008-hold.ts'
import { inboxStoryMigration } from './migration-0009-inbox-story.ts'
import { begunMigration } from './migration-0010-begun.ts'
import { replayMigration } from './migration-0011-replay.ts'
import { retentionsMigration } from './migration-0012-retentions.ts'
import { ownEndMigration } from './migration-0013-own-end.ts'
import { createMigrationTable, createSchema, lockMigrations, recordMigration } from './migration-table.ts'
import type { Tables } from '../statements/tables.ts'

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
  replayMigration,
  retentionsMigration,
  ownEndMigration,
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
