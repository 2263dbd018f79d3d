import { either, flag, listOf, needed, optionsOf, or, type Table } from '../../src/internal.ts'
import { COLUMN, KEY_VALUE, SOME_COLUMNS, TABLE } from './checks.ts'
import type { GuardClient, Row } from './client.ts'
import { tableOf } from './identifiers.ts'
import { withClient } from './with-client.ts'

export interface InsertOnceOptions {
  /** `table` or `schema.table`. Quoted, so it must be written as the database keeps it. */
  readonly table: string
  /** The row, as columns and values. */
  readonly row: Readonly<Record<string, unknown>>
  /** The column, or columns, of `row` that have a primary key or unique index without a condition. */
  readonly conflict: string | readonly string[]
  /**
   * Look for the row before the insert. It saves the work of an insert where most are duplicates, and decides nothing:
   * the unique index does.
   * @defaultValue false
   */
  readonly peek?: boolean
}

/** `already`: the row that was there before, with all its columns. */
export type InsertOnceVerdict<Found extends object = Row> =
  | { readonly verdict: 'applied' }
  | { readonly verdict: 'already'; readonly row: Found }

const INSERT_ONCE: Table<InsertOnceOptions> = {
  table: needed(TABLE),
  row: needed(SOME_COLUMNS),
  conflict: needed(either(COLUMN, listOf(COLUMN, { least: 1 }))),
  peek: or(false, flag()),
}

/**
 * Inserts a row, unless its unique key has one. Of two concurrent calls one inserts; the other waits for the end of its
 * transaction and answers `already`, or inserts if that was rolled back. A violation is never raised, so the
 * transaction goes on.
 *
 * Postgres: one statement (a second one only if a rival commits in between). MariaDB and MySQL: one if it inserts, two
 * if the row is there, and text keys are compared by the collation of their column: give them a binary one.
 *
 * @throws ConfigError for options that cannot be meant, an unknown table or column, columns without a unique index
 */
export async function insertOnce<Found extends object = Row>(
  tx: GuardClient,
  options: InsertOnceOptions,
): Promise<InsertOnceVerdict<Found>> {
  const {
    table,
    row: given,
    conflict: unique,
    peek,
  } = optionsOf('insertOnce', INSERT_ONCE, options, (all, problems) => {
    for (const column of [all.conflict].flat()) {
      const value = all.row[column]
      if (value === undefined) problems.push(`conflict: expected a column of row, got ${column}`)
      else KEY_VALUE.read(value, { name: `row.${column}`, problems })
    }
  })
  const conflict = [unique].flat().map((column): readonly [string, unknown] => [column, given[column]])
  const insertion = { table: tableOf(table) ?? [], row: Object.entries(given), peek }
  const row = await withClient({ guard: 'insertOnce', tx, table }, (statements) =>
    statements.insert({ ...insertion, conflict }),
  )
  return row === undefined ? { verdict: 'applied' } : { verdict: 'already', row: row as Found }
}
