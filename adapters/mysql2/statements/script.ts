import type { Script as AnyScript } from '../../sql/session.ts'

/** Statements without parameters, in order. */
export interface Script<Row = unknown> extends AnyScript<Row> {
  readonly statements: readonly string[]
  /** Converts a row of the last statement that returns any: the server is asked for bytes in hex. */
  readonly read?: (row: never) => Row
}

export function rowsOf<Row>({ read }: Script<Row>, set: readonly unknown[] | undefined): readonly Row[] {
  const rows = set ?? []
  return read === undefined ? (rows as readonly Row[]) : rows.map((row) => read(row as never))
}

export function lastRows(sets: readonly (readonly unknown[])[]): readonly unknown[] {
  return sets.at(-1) ?? []
}
