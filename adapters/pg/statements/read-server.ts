import type { Statement } from './statement.ts'

export interface ServerRow {
  readonly in_recovery: boolean
  readonly version: number
  readonly read_only: boolean
  readonly fsync: boolean
}

/** Locks nothing; one row. */
export const READ_SERVER: Statement<ServerRow> = {
  text: `select pg_is_in_recovery() as in_recovery, current_setting('server_version_num')::int as version,
  current_setting('default_transaction_read_only')::bool as read_only, current_setting('fsync')::bool as fsync`,
  values: [],
}
