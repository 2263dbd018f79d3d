import { ConfigError } from '../../../src/spi.ts'
import type { PgSessions } from '../sessions/session.ts'
import { findMissingKeys, type KeyRow } from './find-keys.ts'
import type { Tables } from '../statements/tables.ts'

/** Describes each key without a unique index, as after a restore without constraints. */
export async function missingKeys(sessions: PgSessions, tables: Tables): Promise<readonly string[]> {
  const rows = await sessions.committed(findMissingKeys(tables))
  return rows.map((row) => `table ${tables.schema}.${row.name}: ${missingKey(row)}`)
}

const RESTORE_KEY = 'Remove rows that are there twice, then add the key'
const RESTORE_TABLE =
  'Its migrations ran, so it was removed since: restore it with its rows. With an empty one, messages that were done run again'

/** @throws ConfigError `CONFIG_INVALID` if a message could be claimed twice */
export async function checkKeys(sessions: PgSessions, tables: Tables): Promise<void> {
  const rows = await sessions.committed(findMissingKeys(tables))
  if (rows.length === 0) return
  throw new ConfigError(
    rows.map((row) => {
      const what = row.is_there ? RESTORE_KEY : RESTORE_TABLE
      return `table ${tables.schema}.${row.name}: ${missingKey(row)}. ${what}`
    }),
  )
}

export function missingKey({ columns, is_there: isThere }: KeyRow): string {
  return isThere
    ? `expected a valid primary key or unique index on (${columns}), got none`
    : `expected a table with a unique (${columns}), got no table`
}
