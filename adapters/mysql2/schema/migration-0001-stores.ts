import type { Migration } from './migration.ts'

/**
 * Digests and tokens are bytes, so no collation folds case or trailing blanks. Times are UTC. The primary key is the
 * only index.
 */
const LIKE_BYTES = 'engine = InnoDB default charset = utf8mb4 collate = utf8mb4_bin'

/**
 * `inbox.outcome`: `c` is claimed, visible only to its own transaction, unless a handler has committed it: then it is
 * torn and counts as parked. `d` done, `g` given up, `p` parked. `lease.keep_until` is null for records that do not
 * expire.
 */
export const storesMigration: Migration = {
  version: 1,
  name: 'stores',
  breaking: false,
  statements: ({ inbox, attempt, lease, scope, audit }) => [
    `create table if not exists ${scope} (
  id   smallint unsigned not null auto_increment primary key,
  hash binary(32)        not null unique,
  name text              not null
) ${LIKE_BYTES}`,
    `create table if not exists ${inbox} (
  scope   smallint unsigned not null,
  \`key\`   binary(16)        not null,
  fp      binary(16),
  owner   varbinary(64)     not null,
  outcome char(1)           not null,
  done_at datetime(6)       not null,
  reason  mediumtext,
  result  mediumtext,
  primary key (scope, \`key\`)
) ${LIKE_BYTES}`,
    `create table if not exists ${attempt} (
  scope   smallint unsigned not null,
  \`key\`   binary(16)        not null,
  owner   varbinary(64)     not null,
  n       int unsigned      not null,
  last_at datetime(6)       not null,
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
  ],
}
