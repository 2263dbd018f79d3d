import { text } from './literals.ts'

/** Columns that a unique index must keep apart: without it two claims of a key both hold it. */
interface Key {
  readonly name: string
  /** In the order of the alphabet. */
  readonly columns: readonly string[]
}

export const KEYS: readonly Key[] = [
  { name: 'consume_once_scope', columns: ['id'] },
  { name: 'consume_once_scope', columns: ['hash'] },
  { name: 'consume_once_inbox', columns: ['key', 'scope'] },
  { name: 'consume_once_attempt', columns: ['key', 'scope'] },
  { name: 'consume_once_lease', columns: ['key', 'scope'] },
]

export interface IndexRow {
  readonly table: string
  /** `null`: the table has no unique index. */
  readonly index: string | null
  readonly column: string | null
  /** How much of the column it has; `null`: all of it. */
  readonly part: number | string | null
}

/**
 * Locks nothing; a row for each column of the unique indexes of each table that is there. Table by table: for several at once the
 * server would open all tables of the database. `database`: `undefined` is that of the connection.
 */
export function readUniqueIndexes(database: string | undefined): string {
  const place = database === undefined ? 'database()' : text(database)
  const names = [...new Set(KEYS.map(({ name }) => name))]
  const parts = names.map(
    (name) => `select '${name}' as \`table\`, s.index_name as \`index\`, s.column_name as \`column\`, s.sub_part as part
from information_schema.tables t left join information_schema.statistics s
on s.table_schema = ${place} and s.table_name = '${name}' and s.non_unique = 0
where t.table_schema = ${place} and t.table_name = '${name}'`,
  )
  return parts.join('\nunion all ')
}
