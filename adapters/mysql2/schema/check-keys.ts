import { refuseMissingKeys, type MissingKey } from '../../sql/schema/keys.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { KEYS, readUniqueIndexes, type IndexRow } from './find-keys.ts'
import type { Keyed, Tables } from '../statements/tables.ts'

/** An index with fewer or more columns than the key, or of a column prefix, does not count. */
export async function missingKeys(sessions: MysqlSessions, database: string): Promise<readonly MissingKey[]> {
  return missingIn(await readIndexes(sessions, database))
}

function missingIn(rows: readonly IndexRow[]): readonly MissingKey[] {
  return KEYS.flatMap(({ name, columns }): MissingKey[] => {
    const ofTable = rows.filter(({ table }) => table === name)
    if (indexOf(ofTable, columns) !== undefined) return []
    return [{ name, columns: columns.join(', '), isThere: ofTable.length > 0 }]
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

function readIndexes(sessions: MysqlSessions, database: string): Promise<readonly IndexRow[]> {
  return sessions.asked(readUniqueIndexes(database))
}

/**
 * Returns the tables with the indexes that they have.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID` if a message could be claimed twice
 */
export async function checkKeys(sessions: MysqlSessions, tables: Tables): Promise<Tables> {
  const rows = await readIndexes(sessions, tables.database)
  refuseMissingKeys(tables.database, missingIn(rows))
  return indexedBy(tables, rows)
}
