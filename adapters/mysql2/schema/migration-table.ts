import { text } from '../statements/literals.ts'
import type { MigrationRow } from '../../sql/schema/migrations.ts'
import type { Tables } from '../statements/tables.ts'

/** Locks nothing; a row for each migration that ran, in order. Fails with 1146 if none ever ran. */
export function readMigrations({ migration }: Tables): string {
  return `select version, name, breaking from ${migration} order by version limit 1000`
}

export function createMigrationTable({ migration }: Tables): string {
  return `create table if not exists ${migration} (
  version  int         not null primary key,
  name     varchar(64) not null,
  breaking tinyint     not null,
  run_at   datetime(6) not null
) engine = InnoDB default charset = utf8mb4 collate = utf8mb4_bin`
}

export function recordMigration({ migration }: Tables, { version, name, breaking }: MigrationRow): string {
  return `insert into ${migration} (version, name, breaking, run_at)
values (${version}, '${name}', ${breaking ? 1 : 0}, utc_timestamp(6)) on duplicate key update version = version`
}

/** DDL commits, so a transaction cannot hold the lock: the connection does. One row: 1 is held, 0 is not. */
export function lockMigrations({ database }: Tables, waitSeconds: number): string {
  return `select get_lock(${lockName(database)}, ${waitSeconds}) as held`
}

export function unlockMigrations({ database }: Tables): string {
  return `do release_lock(${lockName(database)})`
}

/** Lock names have at most 64 characters, and belong to the server, not to the database. */
function lockName(database: string): string {
  return `concat('consume_once ', left(sha2(${text(database)}, 256), 40))`
}
