import { text } from '../statements/literals.ts'
import type { Tables } from '../statements/tables.ts'

/**
 * Adds a column if it is missing, and may be run again: MySQL has no `if not exists` for columns. The statements must
 * run together, on one connection.
 *
 * @param table - from `tables`, quoted
 * @param column - its name and type
 */
export function addColumn({ database }: Tables, table: string, column: string): readonly string[] {
  const [name = ''] = column.split(' ')
  const there = `select count(*) from information_schema.columns where table_schema = ${text(database)}
and table_name = ${text(unquoted(table))} and column_name = ${text(name)}`
  return [
    `set @consume_once_ddl = if((${there}) = 0, ${text(`alter table ${table} add column ${column}`)}, 'do 0')`,
    'prepare consume_once_ddl from @consume_once_ddl',
    'execute consume_once_ddl',
    'deallocate prepare consume_once_ddl',
  ]
}

/** The last part of `database`.`table`. */
function unquoted(table: string): string {
  return table.split('.').at(-1)?.replaceAll('`', '') ?? ''
}
