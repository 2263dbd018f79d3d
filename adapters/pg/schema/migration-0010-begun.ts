import type { Migration } from './migration.ts'

/**
 * Streams whose transaction was begun for handlers, with the first and the last message of each. A row is written in
 * that transaction and removed in the message of its COMMIT, so nobody ever sees one unless a handler has committed.
 * Earlier code does not write it.
 */
export const begunMigration: Migration = {
  version: 10,
  name: 'begun',
  breaking: false,
  sql: ({ begun }) => `
create table ${begun} (
  first_offset bigint   not null,
  last_offset  bigint   not null,
  scope        smallint not null,
  stream       text     not null,
  primary key (scope, stream)
) with (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);`,
}
