import { text } from '../statements/literals.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * Statements that add columns to a table, all at once, unless it has the first of them: MySQL has no `if not exists`
 * here, and a migration may be run again. They are prepared, because the DDL depends on the existing columns.
 */
export function addColumns(
  { database }: Tables,
  table: 'inbox' | 'attempt' | 'lease',
  columns: Readonly<Record<string, string>>,
): readonly string[] {
  const name = `consume_once_${table}`
  const [first = ''] = Object.keys(columns)
  const added = Object.entries(columns).map(([column, type]) => `add column ${column} ${type}`)
  const ddl = `alter table \`${database}\`.\`${name}\` ${added.join(', ')}`
  return [
    `set @consume_once_ddl = (select if(count(*) = 0, ${text(ddl)}, 'do 0') from information_schema.columns
where table_schema = ${text(database)} and table_name = '${name}' and column_name = '${first}')`,
    'prepare consume_once_ddl from @consume_once_ddl',
    'execute consume_once_ddl',
    'deallocate prepare consume_once_ddl',
  ]
}
