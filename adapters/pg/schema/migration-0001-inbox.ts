import type { Migration } from './migration.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * Columns from wide to narrow, to avoid padding: a done row with a digest takes 76 bytes, and 52 in its index. `owner`
 * and `reason` are written only for records that were set aside. No serial column (ON CONFLICT burns its values) and no
 * second unique index (it would deadlock batches).
 */
export const inboxMigration: Migration = {
  version: 1,
  name: 'inbox',
  breaking: false,
  sql: (tables) => `
create table ${tables.scope} (id smallint primary key check (id > 0), name text not null unique);

create table ${tables.inbox} (
  done_at timestamptz not null default now(),
  scope   smallint    not null,
  outcome "char"      not null default 'd' check (outcome in ('d', 'g', 'p')),
  key     bytea       not null check (octet_length(key) between 16 and 32),
  fp      bytea,
  owner   text,
  reason  text,
  primary key (scope, key)
)${tables.inboxPartitions > 0 ? ' partition by hash (key)' : ''};
${partitionsOf(tables)}create index inbox_done_at on ${tables.inbox} using brin (done_at);
${settingsOf(tables)}

create table ${tables.attempt} (
  last_at timestamptz not null default now(),
  n       int         not null,
  scope   smallint    not null,
  key     bytea       not null,
  owner   text        not null,
  primary key (scope, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);`,
}

/** A key always belongs to the same partition, so it stays unique. */
function partitionsOf(tables: Tables): string {
  const made = namesOf(tables).map(
    (name, at) =>
      `create table ${name} partition of ${tables.inbox} for values with (modulus ${tables.inboxPartitions}, remainder ${at});\n`,
  )
  return made.join('')
}

/** A partitioned table has no storage settings of its own. */
function settingsOf(tables: Tables): string {
  const set = 'set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.02);'
  const names = tables.inboxPartitions > 0 ? namesOf(tables) : [tables.inbox]
  return names.map((name) => `alter table ${name} ${set}`).join('\n')
}

function namesOf({ schema, inboxPartitions }: Tables): readonly string[] {
  return Array.from({ length: inboxPartitions }, (_, at) => `"${schema}"."inbox_${at}"`)
}
