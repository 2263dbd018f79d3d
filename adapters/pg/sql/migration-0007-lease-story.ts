import type { Migration } from './migration.ts'

/**
 * What a record tells: `not_before`, the end of a backoff, of what is released; `since` of what is set aside; `cause`, why the last
 * attempt failed, of both. Code before this neither reads nor writes them: it claims in a backoff, and sets aside without a story.
 * They cost a row its bitmap of nulls, 8 bytes.
 */
export const leaseStoryMigration: Migration = {
  version: 7,
  name: 'lease-story',
  breaking: false,
  sql: ({ lease }) =>
    `alter table ${lease} add column not_before timestamptz, add column since timestamptz, add column cause text;`,
}
