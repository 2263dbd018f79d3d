import type { Migration } from './migration.ts'

/**
 * `keep_until`: the end of a record, and of the attempts of a message that never ended, from the retention of the claim
 * that wrote it. `null`: written by earlier code, which neither reads nor writes it, and purges by its own retention. It
 * costs a row 8 bytes. No index: a purge finds old rows by `done_at`.
 */
export const ownEndMigration: Migration = {
  version: 13,
  name: 'own-end',
  breaking: false,
  sql: ({ inbox, attempt }) => `
alter table ${inbox} add column keep_until timestamptz;
alter table ${attempt} add column keep_until timestamptz;`,
}
