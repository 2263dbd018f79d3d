import type { Migration } from './migration.ts'

/**
 * One row for each partition, however many messages it has. Every mark changes `next_offset`, so no index is on a
 * changing column and pages keep free space: updates stay in their page. `moved_by` is the token of the claim that
 * moved or set aside last.
 */
export const positionMigration: Migration = {
  version: 2,
  name: 'position',
  breaking: false,
  sql: ({ position }) => `
create table ${position} (
  next_offset    bigint      not null check (next_offset >= 0),
  updated_at     timestamptz not null default now(),
  attempt_offset bigint,
  attempt_until  bigint,
  attempts       int         not null default 0,
  scope          smallint    not null,
  outcome        "char"      check (outcome in ('g', 'p')),
  stream         text        not null,
  attempt_owner  text,
  moved_by       text,
  reason         text,
  primary key (scope, stream)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);`,
}
