import type { Migration } from './migration.ts'

/**
 * `state`: processing, released, done, given up, parked (X). `doubt`: for processing and released records. `rest`: the
 * result of a done record, the reason of one that was set aside.
 *
 * Columns from wide to narrow and none of them `null`, so that there is no padding and no null bitmap: a done row with
 * a digest takes 104 bytes, and 41 in its index. `fp` and `rest` are empty if there is none; parked records have
 * `keep_until` infinity. A mark updates the row of its claim. Pages keep free space and no index is on a changing
 * column, so the update stays in its page (HOT) and costs neither index nor vacuum work. That holds for all marks in
 * batches of 32, and for a third in batches of 100.
 */
export const leaseMigration: Migration = {
  version: 4,
  name: 'lease',
  breaking: false,
  sql: ({ lease }) => `
create table ${lease} (
  lease_until timestamptz not null,
  keep_until  timestamptz not null,
  fence       int         not null check (fence > 0),
  attempts    int         not null,
  scope       smallint    not null,
  state       "char"      not null check (state in ('P', 'R', 'D', 'G', 'X')),
  doubt       boolean     not null,
  key         bytea       not null check (octet_length(key) between 16 and 32),
  fp          bytea       not null,
  owner       text        not null,
  rest        text        not null,
  primary key (scope, key)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);`,
}
