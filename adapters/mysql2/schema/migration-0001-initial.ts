import type { Migration } from '../../sql/schema/migrations.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * Digests and tokens are bytes, so no collation folds case or trailing blanks. Times are UTC. The primary key is the
 * only index.
 */
const LIKE_BYTES = 'engine = InnoDB default charset = utf8mb4 collate = utf8mb4_bin'

/**
 * `scope.first_claim_at`: `null` until the first claim; before that time absence of a record proves nothing. `purged_to`:
 * a purge has removed records that are older. `retentions`: for leases, whose records end by themselves, for each
 * retention (ms) when claims were made with it at the latest (ms since 1970), as JSON.
 *
 * `inbox.outcome`: `c` is claimed, visible only to its own transaction, unless a handler has committed it: then it is
 * torn and counts as parked. `d` done, `g` given up, `p` parked. `keep_until`: the end of a record, and of the attempts of
 * a message that never ended, from the retention of the claim that wrote it. `attempt` and `cause` are those of records
 * that were set aside. An attempt without a record keeps the digest of its payload, the end of its backoff and its cause.
 *
 * `lease.keep_until` is `null` for records that do not expire. `not_before`: end of the backoff of a released record.
 * `since`: time of a set-aside or a mark. `cause`: why the last attempt failed.
 *
 * A `replay` is held by `owner` until `held_until`; its state is text of at most 1 MB.
 */
export const initialMigration: Migration<Tables> = {
  version: 1,
  name: 'initial',
  breaking: false,
  statements: ({ inbox, attempt, lease, scope, audit, replay }) => [
    `create table if not exists ${scope} (
  id             smallint unsigned not null auto_increment primary key,
  hash           binary(32)        not null unique,
  name           text              not null,
  first_claim_at datetime(6),
  purged_to      datetime(6),
  retentions     text character set ascii
) ${LIKE_BYTES}`,
    `create table if not exists ${inbox} (
  scope      smallint unsigned not null,
  \`key\`      binary(16)        not null,
  fp         binary(16),
  owner      varbinary(64)     not null,
  outcome    char(1)           not null,
  done_at    datetime(6)       not null,
  keep_until datetime(6),
  attempt    int unsigned,
  reason     mediumtext,
  result     mediumtext,
  cause      text,
  primary key (scope, \`key\`)
) ${LIKE_BYTES}`,
    `create table if not exists ${attempt} (
  scope      smallint unsigned not null,
  \`key\`      binary(16)        not null,
  owner      varbinary(64)     not null,
  n          int unsigned      not null,
  last_at    datetime(6)       not null,
  keep_until datetime(6),
  fp         binary(16),
  not_before datetime(6),
  cause      text,
  primary key (scope, \`key\`)
) ${LIKE_BYTES}`,
    `create table if not exists ${lease} (
  scope       smallint unsigned not null,
  \`key\`       binary(16)        not null,
  fp          binary(16),
  owner       varbinary(64)     not null,
  state       char(1)           not null,
  doubt       tinyint           not null,
  fence       int unsigned      not null,
  attempt     int unsigned      not null,
  lease_until datetime(6),
  keep_until  datetime(6),
  rest        mediumtext,
  not_before  datetime(6),
  since       datetime(6),
  cause       text,
  primary key (scope, \`key\`)
) ${LIKE_BYTES}`,
    `create table if not exists ${audit} (
  id       bigint unsigned   not null auto_increment primary key,
  at       datetime(6)       not null,
  scope    smallint unsigned not null,
  \`key\`    binary(16)        not null,
  decision varchar(16)       not null,
  by_whom  text              not null,
  reason   text              not null,
  \`before\` mediumtext        not null,
  index audit_key (scope, \`key\`)
) ${LIKE_BYTES}`,
    `create table if not exists ${replay} (
  scope      smallint unsigned not null,
  id         varbinary(255)    not null,
  owner      varbinary(255),
  held_until datetime(6),
  request    varchar(8),
  created_at datetime(6)       not null,
  saved_at   datetime(6)       not null,
  state      mediumtext        not null,
  primary key (scope, id)
) ${LIKE_BYTES}`,
  ],
}
