import type { Migration } from './migration.ts'

/**
 * `result` is text as core/result.ts writes it, and `null` for most rows, where it takes no room. `flush_ticker` says that
 * marks of the scope may be seen before they are flushed, and is never taken back by itself. `audit` is what people have
 * decided, each with the row as it was before; nothing removes it.
 */
export const resultMigration: Migration = {
  version: 3,
  name: 'result',
  breaking: false,
  sql: ({ inbox, scope, audit }) => `
alter table ${inbox} add column result text;
alter table ${scope} add column flush_ticker boolean not null default false;

create table ${audit} (
  at       timestamptz not null default now(),
  scope    smallint    not null,
  key      bytea       not null,
  decision text        not null,
  by_whom  text        not null,
  reason   text        not null,
  before   json
);
create index audit_key on ${audit} (scope, key);`,
}
