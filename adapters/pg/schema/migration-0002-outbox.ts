import type { Migration } from '../../sql/schema/migrations.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * Columns from wide to narrow. `outbox` is read by lanes, in the order of `id`. Rows that are put off are in the other
 * indexes alone, and no other row is, so that these cost nothing where all is well.
 */
export const outboxMigration: Migration<Tables> = {
  version: 2,
  name: 'outbox',
  breaking: false,
  statements: ({ outbox }) => [
    `create table ${outbox} (
  id         bigint generated always as identity primary key,
  created_at timestamptz not null default clock_timestamp(),
  not_before timestamptz,
  parked_at  timestamptz,
  attempts   int         not null default 0,
  line       int         not null,
  lane       smallint    not null check (lane >= 0),
  system     "char"      not null check (system in ('k', 'r')),
  message_id text        not null,
  place      text        not null,
  key        bytea,
  value      bytea,
  attributes text        not null,
  cause      text
) with (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02)`,
    `create index outbox_due on ${outbox} (lane, id) where not_before is null and parked_at is null`,
    `create index outbox_waiting on ${outbox} (lane, not_before, id) where not_before is not null and parked_at is null`,
    `create index outbox_line on ${outbox} (line, id) where not_before is not null and parked_at is null`,
    `create index outbox_refused on ${outbox} (id) where cause is not null`,
  ],
}
