import { ConfigError } from '../../../src/spi.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { KEYS, readUniqueIndexes, type IndexRow } from './find-keys.ts'
import { lastRows } from '../statements/script.ts'
import { COMMIT } from '../statements/transaction.ts'

export interface MissingKey {
  /** The table exists; otherwise no index is missing yet. */
  readonly isThere: boolean
  readonly explained: string
}

/**
 * Each key without a unique index, as after a restore without keys. An index with fewer or more columns, or of a column
 * prefix, does not count.
 */
export async function missingKeys(sessions: MysqlSessions, database: string): Promise<readonly MissingKey[]> {
  const sets = await sessions.using((connection) => connection.run([readUniqueIndexes(database), COMMIT], false))
  const rows = lastRows(sets) as readonly IndexRow[]
  return KEYS.flatMap(({ name, columns }): MissingKey[] => {
    const ofTable = rows.filter(({ table }) => table === name)
    const isThere = ofTable.length > 0
    const listed = columns.join(', ')
    if (!isThere) return [{ isThere, explained: `${name}: expected a table with a unique (${listed}), got no table` }]
    const isKept = [...new Set(ofTable.map(({ index }) => index))].some((index) => {
      const parts = ofTable.filter((row) => row.index === index)
      const of = parts.map(({ column }) => column ?? '').toSorted((a, b) => (a < b ? -1 : 1))
      return of.join(', ') === listed && parts.every(({ part }) => part === null)
    })
    if (isKept) return []
    return [{ isThere, explained: `${name}: expected a primary key or unique index on (${listed}), got none` }]
  })
}

/** @throws ConfigError `CONFIG_INVALID` if a message could be claimed twice */
export async function checkKeys(sessions: MysqlSessions, database: string): Promise<void> {
  const missing = await missingKeys(sessions, database)
  if (missing.length === 0) return
  const what = 'Remove rows that are there twice, then add the key'
  throw new ConfigError(missing.map(({ explained }) => `table ${database}.${explained}. ${what}`))
}
