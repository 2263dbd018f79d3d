import type { Migration } from './migration.ts'

/**
 * `first_claim_at`: `null` until the first claim by code that knows the column. Before that time absence of a record
 * proves nothing. `purged_to`: a purge has removed records that are older. `audit.id` is the order in which decisions
 * are listed. A replay is held by `owner` until `held_until`; its state is text of at most 1 MB.
 */
export const replayMigration: Migration = {
  version: 11,
  name: 'replay',
  breaking: false,
  sql: ({ scope, audit, replay }) => `
alter table ${scope} add column first_claim_at timestamptz, add column purged_to timestamptz;
alter table ${audit} add column id bigint generated always as identity;
create index audit_id on ${audit} (scope, id);

create table ${replay} (
  created_at timestamptz not null default now(),
  saved_at   timestamptz not null default now(),
  held_until timestamptz,
  scope      smallint    not null,
  id         text        not null,
  owner      text,
  request    text        check (request in ('pause', 'abort')),
  state      text        not null,
  primary key (scope, id)
);`,
}
