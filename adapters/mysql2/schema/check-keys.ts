import { ConfigError } from '../../../src/spi.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { KEYS, readUniqueIndexes, type IndexRow } from './find-keys.ts'
import { lastRows } from '../statements/script.ts'
import type { Keyed, Tables } from '../statements/tables.ts'
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
  return missingIn(await readIndexes(sessions, database))
}

function missingIn(rows: readonly IndexRow[]): readonly MissingKey[] {
  return KEYS.flatMap(({ name, columns }): MissingKey[] => {
    const ofTable = rows.filter(({ table }) => table === name)
    const isThere = ofTable.length > 0
    const listed = columns.join(', ')
    if (!isThere) return [{ isThere, explained: `${name}: expected a table with a unique (${listed}), got no table` }]
    if (indexOf(ofTable, columns) !== undefined) return []
    return [{ isThere, explained: `${name}: expected a primary key or unique index on (${listed}), got none` }]
  })
}

/** The name of a unique index of just these columns, of the rows of one table. */
function indexOf(rows: readonly IndexRow[], columns: readonly string[]): string | undefined {
  const names = [...new Set(rows.map(({ index }) => index ?? ''))]
  // The servers order rows by the data of the table: the primary key goes before another index.
  return names
    .toSorted((a, b) => Number(b === 'PRIMARY') - Number(a === 'PRIMARY'))
    .find((name) => {
      const parts = rows.filter(({ index }) => index === name)
      const of = parts.map(({ column }) => column ?? '').toSorted((a, b) => (a < b ? -1 : 1))
      return of.join(', ') === columns.join(', ') && parts.every(({ part }) => part === null)
    })
}

/** The tables with the indexes that they have. A table that is not there is taken for one with a primary key. */
export async function withIndexes(sessions: MysqlSessions, tables: Tables): Promise<Tables> {
  return indexedBy(tables, await readIndexes(sessions, tables.database))
}

function indexedBy(tables: Tables, rows: readonly IndexRow[]): Tables {
  const found = (name: Keyed): string => {
    const ofTable = rows.filter(({ table }) => table === `consume_once_${name}`)
    const index = indexOf(ofTable, ['key', 'scope'])
    return index === undefined ? tables.indexes[name] : `\`${index.replaceAll('`', '``')}\``
  }
  return { ...tables, indexes: { inbox: found('inbox'), attempt: found('attempt'), lease: found('lease') } }
}

async function readIndexes(sessions: MysqlSessions, database: string): Promise<readonly IndexRow[]> {
  const sets = await sessions.using((connection) => connection.run([readUniqueIndexes(database), COMMIT], false))
  return lastRows(sets) as readonly IndexRow[]
}

const RESTORE_KEY = 'Remove rows that are there twice, then add the key'
const RESTORE_TABLE =
  'Its migrations ran, so it was removed since: restore it with its rows. With an empty one, messages that were done run again'

/**
 * Returns the tables with the indexes that they have.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID` if a message could be claimed twice
 */
export async function checkKeys(sessions: MysqlSessions, tables: Tables): Promise<Tables> {
  const { database } = tables
  const rows = await readIndexes(sessions, database)
  const missing = missingIn(rows)
  if (missing.length === 0) return indexedBy(tables, rows)
  throw new ConfigError(
    missing.map(({ isThere, explained }) => `table ${database}.${explained}. ${isThere ? RESTORE_KEY : RESTORE_TABLE}`),
  )
}
