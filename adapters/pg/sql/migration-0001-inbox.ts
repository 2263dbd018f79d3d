import type { Migration } from './migration.ts'

/**
 * Columns from wide to narrow, so that none is padded: a done row with a digest takes 76 bytes, and 52 in its index.
 * `owner` and `reason` are written for what is set aside only. No serial column (ON CONFLICT burns its values) and no
 * second unique index (it would deadlock batches).
 */
export const inboxMigration: Migration = {
  version: 1,
  name: 'inbox',
  breaking: false,
  sql: ({ inbox, attempt, scope }) => `
create table ${scope} (id smallint primary key check (id > 0), name text not null unique);

create table ${inbox} (
  done_at timestamptz not null default now(),
  scope   smallint    not null,
  outcome "char"      not null default 'd' check (outcome in ('d', 'g', 'p')),
  key     bytea       not null check (octet_length(key) between 16 and 32),
  fp      bytea,
  owner   text,
  reason  text,
  primary key (scope, key)
);
create index inbox_done_at on ${inbox} using brin (done_at);
alter table ${inbox} set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.02);

create table ${attempt} (
  last_at timestamptz not null default now(),
  n       int         not null,
  scope   smallint    not null,
  key     bytea       not null,
  owner   text        not null,
  primary key (scope, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);`,
}
