import { text } from '../statements/literals.ts'

/** Columns that need a unique index: without it two claims of a key would both succeed. */
interface Key {
  readonly name: string
  /** In alphabetical order. */
  readonly columns: readonly string[]
}

export const KEYS: readonly Key[] = [
  { name: 'consume_once_scope', columns: ['id'] },
  { name: 'consume_once_scope', columns: ['hash'] },
  { name: 'consume_once_inbox', columns: ['key', 'scope'] },
  { name: 'consume_once_attempt', columns: ['key', 'scope'] },
  { name: 'consume_once_lease', columns: ['key', 'scope'] },
  { name: 'consume_once_replay', columns: ['id', 'scope'] },
]

/** Tables without such a key, and an index that only speeds things up. */
export const OTHERS = { table: 'consume_once_audit', index: 'audit_key' } as const

export interface OtherRow {
  readonly has_table: number | string
  readonly has_index: number | string
}

/** Locks nothing; one row. */
export function readOthers(database: string): string {
  const where = `where table_schema = ${text(database)} and table_name = '${OTHERS.table}'`
  return `select (select count(*) from information_schema.tables ${where}) as has_table,
(select count(*) from information_schema.statistics ${where} and index_name = '${OTHERS.index}') as has_index`
}

export interface IndexRow {
  readonly table: string
  /** `null`: the table has no unique index. */
  readonly index: string | null
  readonly column: string | null
  /** Length of the indexed prefix; `null`: the whole column. */
  readonly part: number | string | null
}

/**
 * Locks nothing; a row for each column of the unique indexes of each existing table. One query for each table: for
 * several at once the server would open all tables of the database.
 */
export function readUniqueIndexes(database: string): string {
  const place = text(database)
  const names = [...new Set(KEYS.map(({ name }) => name))]
  const parts = names.map(
    (name) => `select '${name}' as \`table\`, s.index_name as \`index\`, s.column_name as \`column\`, s.sub_part as part
from information_schema.tables t left join information_schema.statistics s
on s.table_schema = ${place} and s.table_name = '${name}' and s.non_unique = 0
where t.table_schema = ${place} and t.table_name = '${name}'`,
  )
  // A limit of its own: that of the session could hide some.
  return `${parts.join('\nunion all ')}\nlimit 1000`
}
