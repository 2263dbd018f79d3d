import type { Migration } from './migration.ts'

/**
 * What is counted of a message without a record keeps its payload's digest, the end of its backoff and why it failed; what is set
 * aside keeps its attempts and why. Code before this neither reads nor writes them. They cost a row of the inbox, which has more
 * than eight columns now, 8 bytes, and an attempt those of its digest.
 */
export const inboxStoryMigration: Migration = {
  version: 9,
  name: 'inbox-story',
  breaking: false,
  sql: ({ attempt, inbox }) => `
alter table ${attempt} add column fp bytea, add column not_before timestamptz, add column cause text;
alter table ${inbox} add column attempt int, add column cause text;`,
}
