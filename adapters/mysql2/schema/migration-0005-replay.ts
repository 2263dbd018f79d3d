import { addColumn } from './add-column.ts'
import type { Migration } from './migration.ts'

/**
 * `first_claim_at`: `null` until the first claim by code that knows the column. Before that time absence of a record
 * proves nothing. `purged_to`: a purge has removed records that are older. A replay is held by `owner` until
 * `held_until`; its state is text of at most 1 MB.
 */
export const replayMigration: Migration = {
  version: 5,
  name: 'replay',
  breaking: false,
  statements: (tables) => [
    ...addColumn(tables, tables.scope, 'first_claim_at datetime(6)'),
    ...addColumn(tables, tables.scope, 'purged_to datetime(6)'),
    `create table if not exists ${tables.replay} (
  scope      smallint unsigned not null,
  id         varbinary(255)    not null,
  owner      varbinary(255),
  held_until datetime(6),
  request    varchar(8),
  created_at datetime(6)       not null,
  saved_at   datetime(6)       not null,
  state      mediumtext        not null,
  primary key (scope, id)
) engine = InnoDB default charset = utf8mb4 collate = utf8mb4_bin`,
  ],
}
