import type { Migration } from './migration.ts'

/**
 * Attempts of a message without a record keep its payload digest, the end of its backoff and its cause. Records that
 * were set aside keep their attempts and cause. Earlier code neither reads nor writes them. They cost a row of the
 * inbox, which now has more than eight columns, 8 bytes, and an attempt the bytes of its digest.
 */
export const inboxStoryMigration: Migration = {
  version: 9,
  name: 'inbox-story',
  breaking: false,
  sql: ({ attempt, inbox }) => `
alter table ${attempt} add column fp bytea, add column not_before timestamptz, add column cause text;
alter table ${inbox} add column attempt int, add column cause text;`,
}
