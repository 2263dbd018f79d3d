import { givenOf } from '../../src/spi.ts'
import { Checks } from './checks.ts'
import type { GuardClient, Row } from './client.ts'
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

const KNOWN: Record<keyof InsertOnceOptions, true> = { table: true, row: true, conflict: true, peek: true }

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
  const checks = new Checks('insertOnce', options, KNOWN)
  const { table, row: given, conflict: unique, peek = false } = givenOf(options)
  const insertion = { table: checks.table(table), row: checks.columns('row', given, 1), peek }
  const names: readonly unknown[] = Array.isArray(unique) ? unique : [unique]
  if (names.length === 0) checks.problems.push('conflict: expected at least one column, got none')
  const conflict = names.map((name): readonly [string, unknown] => {
    const column = checks.column('conflict', name)
    const value = insertion.row.find(([other]) => other === column)?.[1]
    if (value === undefined) checks.problems.push(`conflict: expected a column of row, got ${column}`)
    else checks.keyValue(`row.${column}`, value)
    return [column, value]
  })
  if (typeof peek !== 'boolean') checks.problems.push(`peek: expected true, false, got ${String(peek)}`)
  checks.end()
  const row = await withClient({ guard: 'insertOnce', tx, table }, (statements) =>
    statements.insert({ ...insertion, conflict }),
  )
  return row === undefined ? { verdict: 'applied' } : { verdict: 'already', row: row as Found }
}
