/** Statements without parameters, in order. */
export interface Script<Row = unknown> {
  readonly statements: readonly string[]
  /** Type of the rows of the last statement that returns any; never set. */
  readonly returns?: Row
}

export function lastRows(sets: readonly (readonly unknown[])[]): readonly unknown[] {
  return sets.at(-1) ?? []
}
