import { ConfigError, describeError } from '../../src/internal.ts'
import { shownValue } from './checks.ts'
import type { Table } from './identifiers.ts'
import type { Change } from './statements.ts'

/** No such schema, table, column or type, no unique index, another type than that of the column. */
const REFUSED_BY_POSTGRES: ReadonlySet<unknown> = new Set([
  '3F000',
  '42P01',
  '42703',
  '42704',
  '42P10',
  '42804',
  '42883',
  '22P02',
  '22007',
])
/** The same: 1049 database, 1146 table, 1054 column, 1265, 1292 and 1366 values. */
const REFUSED_BY_MYSQL: ReadonlySet<unknown> = new Set([1049, 1054, 1146, 1265, 1292, 1366])

const FIRST_HINT = 'expected columns and values that the table has'

/** What a database says about a statement that no retry can help, as a `ConfigError`. Other errors stay as they are. */
export function explained(guard: string, table: string, error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error
  const { code, errno } = error as { readonly code?: unknown; readonly errno?: unknown }
  if (!REFUSED_BY_POSTGRES.has(code) && !REFUSED_BY_MYSQL.has(errno)) return error
  const hint = code === '42P10' ? 'conflict: expected the columns of one unique index without a condition' : FIRST_HINT
  return new ConfigError([`${guard}: ${hint}: ${table}, got ${describeError(error)}`], 'CONFIG_INVALID', {
    cause: error,
  })
}

export function manyRows(guard: string, count: number): ConfigError {
  return new ConfigError([`${guard}: key: expected the columns of a primary or unique key, got one of ${count} rows`])
}

/** Another unique index, a trigger that swallows the insert, a policy that hides the row. */
export function unreadableRow(guard: string, table: Table): ConfigError {
  const met = `the insert into ${table.join('.')} met a row that has other values in these columns, or cannot be read`
  return new ConfigError([`${guard}: conflict: expected the columns of the unique index that decides; ${met}`])
}

/** The database compares a value as equal to `to` that `from` names. */
export function unsteadyRow(guard: string, table: Table): ConfigError {
  const found = `a row of ${table.join('.')} allows the change and does not change`
  return new ConfigError([`${guard}: expected values that its column can tell apart (collation, precision); ${found}`])
}

/** A row without a state or version: no call of a guard changes it. */
export function unsetColumn({ table, key, column }: Pick<Change, 'table' | 'key' | 'column'>): string {
  const row = key.map(([name, value]) => `${name} ${shownValue(value)}`).join(', ')
  return `${table.join('.')}, ${row}: expected a value in ${column}, got NULL. Write one, and make the column NOT NULL`
}
