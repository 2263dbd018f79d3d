import { KEYS } from './find-keys.ts'
import { text } from '../statements/literals.ts'

export interface EngineRow {
  readonly table: string
  readonly engine: string | null
}

/**
 * Locks nothing; a row for each existing table of the library whose engine has no transactions. One query for each
 * table, as in `readUniqueIndexes`. Views and sequences are not included.
 */
export function readForeignEngines(database: string): string {
  const place = text(database)
  const names = [...new Set([...KEYS.map(({ name }) => name), 'consume_once_audit'])]
  const parts = names.map(
    (name) => `select t.table_name as \`table\`, t.engine as engine from information_schema.tables t
where t.table_schema = ${place} and t.table_name = '${name}' and t.engine <> 'InnoDB'`,
  )
  return parts.join('\nunion all ')
}
