import type { MigrationRow } from '../../sql/schema/migrations.ts'
import type { Script, Statement } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'

export interface SchemaRow {
  readonly schema: string | null
  readonly migration: string | null
}

/** Locks nothing; one row, with `null` only if there is no schema or no table. */
export function findSchema({ schema, migration }: Tables): Statement<SchemaRow> {
  return {
    text: `select to_regnamespace($1)::text as schema, to_regclass($2)::text as migration`,
    values: [`"${schema}"`, migration],
  }
}

/** Locks nothing; a row for each migration that ran, in order. */
export function readMigrations({ migration }: Tables): Statement<MigrationRow> {
  return { text: `select version, name, breaking from ${migration} order by version`, values: [] }
}

/**
 * Excludes other migrations of this schema until the transaction ends; waits for a running one (55P03 after
 * `lock_timeout`). The lock belongs to the transaction: one of the connection would stay behind in a transaction
 * pooler.
 */
export function lockMigrations({ schema }: Tables): Script {
  return { text: `select pg_advisory_xact_lock(1668244079, hashtext('${schema}'))` }
}

/** Needs the right to create schemas even if the schema exists: run it only if it does not. */
export function createSchema({ schema }: Tables): Script {
  return { text: `create schema if not exists "${schema}"` }
}

export function createMigrationTable({ migration }: Tables): Script {
  return {
    text: `create table if not exists ${migration} (
  version int primary key, name text not null, breaking boolean not null, run_at timestamptz not null default now()
)`,
  }
}

/** Fails with 23505 if the migration ran already. */
export function recordMigration({ migration }: Tables, { version, name, breaking }: MigrationRow): Script {
  return { text: `insert into ${migration} (version, name, breaking) values (${version}, '${name}', ${breaking})` }
}
