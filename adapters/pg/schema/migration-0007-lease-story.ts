import type { Migration } from './migration.ts'

/**
 * `not_before`: end of the backoff of a released record. `since`: time of a set-aside or a mark. `cause`: why the last
 * attempt of a released or set-aside record failed. Earlier code neither reads nor writes them: it claims during a
 * backoff, and sets aside without these fields. They cost a row a null bitmap, 8 bytes, and a done row 12 more
 * for `since`.
 */
export const leaseStoryMigration: Migration = {
  version: 7,
  name: 'lease-story',
  breaking: false,
  sql: ({ lease }) =>
    `alter table ${lease} add column not_before timestamptz, add column since timestamptz, add column cause text;`,
}
