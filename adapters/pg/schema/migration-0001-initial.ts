import type { Migration } from '../../sql/schema/migrations.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * Columns from wide to narrow, to avoid padding. No serial column (ON CONFLICT burns its values) and no second unique
 * index (it would deadlock batches).
 *
 * `scope.flush_ticker`: marks of the scope may be visible before they are flushed; it is never reset automatically.
 * `first_claim_at`: `null` until the first claim; before that time absence of a record proves nothing. `purged_to`: a
 * purge has removed records that are older. `retentions`: for leases, whose records end by themselves, for each retention
 * (ms) when claims were made with it at the latest (ms since 1970).
 *
 * `inbox`, `attempt`: `keep_until` is the end of a record, and of the attempts of a message that never ended, from the
 * retention of the claim that wrote it. No index: a purge finds old rows by `done_at`. `owner`, `reason`, `attempt` and
 * `cause` are written only for records that were set aside; `inbox_aside` lists these without a scan of all done records.
 * `result` is the text of core/result.ts. An attempt keeps the digest of its payload, the end of its backoff and its cause.
 *
 * `claim`: one row for each claim whose transaction has not been marked, with its keys and the digests of their payloads
 * (inbox/statements/claims.ts). It goes with the mark. Keys are digests, which no compression makes smaller. The index is
 * for the rows of the last minute.
 *
 * `lease.state`: processing, released, done, given up, parked (X). `doubt`: for processing and released records. `rest`:
 * the result of a done record, the reason of one that was set aside. `fp` and `rest` are empty if there is none; parked
 * records have `keep_until` infinity. `not_before`: end of the backoff of a released record. `since`: time of a set-aside
 * or a mark. `cause`: why the last attempt failed. A mark updates the row of its claim. Pages keep free space and no index
 * is on a changing column, so the update stays in its page (HOT) and costs neither index nor vacuum work.
 *
 * `position`: one row for each partition, however many messages it has. Every mark changes `next_offset`, so it too has
 * no index on a changing column. `moved_by` is the token of the claim that moved or set aside last. `last_timestamp`: the
 * broker's timestamp of the message at `last_offset`; it is valid only if that is right before `next_offset`, which a
 * person may have changed. `held`: why nothing of the stream may be handled.
 *
 * `begun`: streams whose transaction was begun for handlers, with the first and the last message of each. A row is written
 * in that transaction and removed in the message of its COMMIT, so nobody ever sees one unless a handler has committed.
 *
 * `audit` logs people's decisions in the order of `id`, each with the previous row; nothing removes them. A `replay` is
 * held by `owner` until `held_until`; its state is text of at most 1 MB.
 */
export const initialMigration: Migration<Tables> = {
  version: 1,
  name: 'initial',
  breaking: false,
  statements: (tables) => [
    `create table ${tables.scope} (
  id             smallint    primary key check (id > 0),
  name           text        not null unique,
  flush_ticker   boolean     not null default false,
  first_claim_at timestamptz,
  purged_to      timestamptz,
  retentions     jsonb
)`,
    `create table ${tables.inbox} (
  done_at    timestamptz not null default now(),
  keep_until timestamptz,
  scope      smallint    not null,
  outcome    "char"      not null default 'd' check (outcome in ('d', 'g', 'p')),
  key        bytea       not null check (octet_length(key) between 16 and 32),
  fp         bytea,
  attempt    int,
  owner      text,
  reason     text,
  result     text,
  cause      text,
  primary key (scope, key)
)${tables.inboxPartitions > 0 ? ' partition by hash (key)' : ''};
${partitionsOf(tables)}create index inbox_done_at on ${tables.inbox} using brin (done_at);
create index inbox_aside on ${tables.inbox} (scope, key) where outcome <> 'd';
${settingsOf(tables)}`,
    `create table ${tables.attempt} (
  last_at    timestamptz not null default now(),
  keep_until timestamptz,
  n          int         not null,
  scope      smallint    not null,
  key        bytea       not null,
  owner      text        not null,
  fp         bytea,
  not_before timestamptz,
  cause      text,
  primary key (scope, key)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)`,
    `create table ${tables.claim} (
  at         timestamptz not null default clock_timestamp(),
  keep_until timestamptz,
  scope      smallint    not null,
  phase      "char"      not null default 'c' check (phase in ('c', 'h', 'e')),
  token      text        not null,
  keys       bytea[]     not null,
  fps        bytea[]     not null,
  primary key (scope, token)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02);
alter table ${tables.claim} alter keys set storage external, alter fps set storage external;
create index claim_at on ${tables.claim} (scope, at)`,
    `create table ${tables.lease} (
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
  not_before  timestamptz,
  since       timestamptz,
  cause       text,
  primary key (scope, key)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05)`,
    `create table ${tables.position} (
  next_offset    bigint      not null check (next_offset >= 0),
  updated_at     timestamptz not null default now(),
  attempt_offset bigint,
  attempt_until  bigint,
  last_offset    bigint,
  last_timestamp bigint,
  held_since     timestamptz,
  attempts       int         not null default 0,
  scope          smallint    not null,
  outcome        "char"      check (outcome in ('g', 'p')),
  stream         text        not null,
  attempt_owner  text,
  moved_by       text,
  reason         text,
  held           text,
  primary key (scope, stream)
) with (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02)`,
    `create table ${tables.begun} (
  first_offset bigint   not null,
  last_offset  bigint   not null,
  scope        smallint not null,
  stream       text     not null,
  primary key (scope, stream)
) with (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.02)`,
    `create table ${tables.audit} (
  id       bigint      generated always as identity,
  at       timestamptz not null default now(),
  scope    smallint    not null,
  key      bytea       not null,
  decision text        not null,
  by_whom  text        not null,
  reason   text        not null,
  before   json
);
create index audit_key on ${tables.audit} (scope, key);
create index audit_id on ${tables.audit} (scope, id)`,
    `create table ${tables.replay} (
  created_at timestamptz not null default now(),
  saved_at   timestamptz not null default now(),
  held_until timestamptz,
  scope      smallint    not null,
  id         text        not null,
  owner      text,
  request    text        check (request in ('pause', 'abort')),
  state      text        not null,
  primary key (scope, id)
)`,
  ],
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
  const set = 'set (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.02)'
  const names = tables.inboxPartitions > 0 ? namesOf(tables) : [tables.inbox]
  return names.map((name) => `alter table ${name} ${set}`).join(';\n')
}

function namesOf({ schema, inboxPartitions }: Tables): readonly string[] {
  return Array.from({ length: inboxPartitions }, (_, at) => `"${schema}"."inbox_${at}"`)
}
