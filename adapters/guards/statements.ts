import type { Row } from './client.ts'
import type { Table } from './identifiers.ts'

/** Columns and their values, in the order in which they were given. */
export type Columns = readonly (readonly [column: string, value: unknown])[]

/** What a database does for the guards, in as few statements as it can. */
export interface Statements {
  /** `undefined`: inserted. Else the row that was there. */
  insert(insertion: Insertion): Promise<Row | undefined>
  /** `undefined`: there is no such row. */
  change(change: Change): Promise<Changed | undefined>
  lock(locking: Locking): Promise<Locked>
}

export interface Insertion {
  readonly table: Table
  readonly row: Columns
  /** The columns of `row` that are unique together. */
  readonly conflict: Columns
  /** Look before the insert. */
  readonly peek: boolean
}

/** Writes `to` to `column`, and `set`, if the current value of the column allows it. */
export interface Change {
  readonly table: Table
  readonly key: Columns
  readonly column: string
  readonly to: unknown
  readonly when: Condition
  readonly set: Columns
}

/** What the current value must be. `millisecond`: of a timestamp, whose other digits a `Date` has lost. */
export type Condition =
  | { readonly is: 'one-of'; readonly values: readonly unknown[] }
  | { readonly is: 'lower' }
  | { readonly is: 'equal'; readonly value: unknown }
  | { readonly is: 'millisecond'; readonly value: Date }

export interface Changed {
  readonly isChanged: boolean
  /** The value before. MariaDB and MySQL tell it only if nothing was changed. */
  readonly current: unknown
  /** The value before is `to` already. */
  readonly isThere: boolean
}

export interface Locking {
  readonly table: Table
  readonly key: Columns
  readonly waitMs: number
}

export type Locked = { readonly row: Row } | 'busy' | 'missing'

/** Rivals may change a row between two statements of a guard, but hardly so often in a row. */
export const MOST_TRIES = 5

export function valuesOf(columns: Columns): unknown[] {
  return columns.map(([, value]) => value)
}
