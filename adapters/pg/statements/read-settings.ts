import type { MissingThing } from '../../sql/checkup.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'

export interface SettingsRow {
  readonly version: number
  readonly in_recovery: boolean
  readonly fsync: boolean
  readonly full_page_writes: boolean
  /** The setting of this session, from the server, the database or the role. */
  readonly synchronous_commit: string
  readonly synchronous_standby_names: string
  readonly isolation: string
  readonly read_only: boolean
  readonly autovacuum: boolean
  /** With a unit; `null` before Postgres 17. */
  readonly transaction_timeout: string | null
  readonly encoding: string
  /** Those of the role, the database or the server; 0: none. */
  readonly statement_timeout_ms: number
  readonly lock_timeout_ms: number
  /** `null` before Postgres 14. */
  readonly idle_session_timeout_ms: number | null
}

function msOf(setting: string): string {
  return `(select reset_val::float8 from pg_settings where name = '${setting}')`
}

/** Locks nothing; one row. */
export const READ_SETTINGS: Statement<SettingsRow> = {
  text: `select current_setting('server_version_num')::int as version, pg_is_in_recovery() as in_recovery,
  current_setting('fsync')::bool as fsync, current_setting('full_page_writes')::bool as full_page_writes,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('synchronous_standby_names') as synchronous_standby_names,
  current_setting('default_transaction_isolation') as isolation,
  current_setting('default_transaction_read_only')::bool as read_only,
  current_setting('transaction_timeout', true) as transaction_timeout,
  current_setting('autovacuum')::bool as autovacuum, current_setting('server_encoding') as encoding,
  ${msOf('statement_timeout')} as statement_timeout_ms, ${msOf('lock_timeout')} as lock_timeout_ms,
  ${msOf('idle_session_timeout')} as idle_session_timeout_ms`,
  values: [],
}

export interface BackendRow {
  readonly pid: number
}

/** Locks nothing; one row. */
export const READ_BACKEND: Statement<BackendRow> = { text: `select pg_backend_pid() as pid`, values: [] }

export interface StandbyRow {
  readonly standbys: number
  readonly synchronous: number
  /** The replication state of standbys may be read. */
  readonly is_shown: boolean
}

/**
 * Locks nothing; one row. A role without the right to read statistics sees that standbys exist, but not their state.
 */
export const READ_STANDBYS: Statement<StandbyRow> = {
  text: `select count(*)::int as standbys,
  (count(*) filter (where sync_state in ('sync', 'quorum')))::int as synchronous,
  count(*) = count(sync_state) as is_shown
from pg_stat_replication`,
  values: [],
}

export interface TableRow {
  readonly name: string
  readonly is_logged: boolean
  readonly has_autovacuum: boolean
}

/** What the migrations create, besides keys: tables, and indexes that only speed things up. */
export const THINGS: Readonly<Record<MissingThing['kind'], readonly string[]>> = {
  table: ['inbox', 'attempt', 'claim', 'position', 'begun', 'lease', 'scope', 'audit', 'replay', 'outbox'],
  index: [
    'inbox_done_at',
    'inbox_aside',
    'claim_at',
    'audit_key',
    'audit_id',
    'outbox_due',
    'outbox_waiting',
    'outbox_line',
    'outbox_refused',
  ],
}

/** Locks nothing; a row for each table and index that is gone although all migrations ran up to `newest`. */
export function findMissingThings({ schema, migration }: Tables, newest: number): Statement<MissingThing> {
  const wanted = Object.entries(THINGS).flatMap(([kind, names]) => names.map((name) => `('${kind}', '${name}')`))
  return {
    text: `select kind, name from (values ${wanted.join(', ')}) as wanted (kind, name)
where to_regclass($1 || '.' || name) is null and exists (select 1 from ${migration} where version >= $2)`,
    values: [`"${schema}"`, newest],
  }
}

/** Locks nothing; a row for each existing table of the library. */
export function readTables({ schema }: Tables): Statement<TableRow> {
  return {
    text: `select relname as name, relpersistence = 'p' as is_logged,
  coalesce('autovacuum_enabled=false' <> all (reloptions), true) as has_autovacuum
from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'p') order by 1`,
    values: [`"${schema}"`],
  }
}
