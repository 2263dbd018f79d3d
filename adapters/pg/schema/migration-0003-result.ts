import type { Migration } from './migration.ts'

/**
 * `result` is the text of core/result.ts, and `null` in most rows, where it takes no space. `flush_ticker` says that
 * marks of the scope may be visible before they are flushed; it is never reset automatically. `audit` logs people's
 * decisions, each with the previous row; nothing removes them.
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
