/** Statements without parameters, in their order. */
export interface Script<Row = unknown> {
  readonly statements: readonly string[]
  /** Never there: it says what the rows of the last statement are that returns any. */
  readonly returns?: Row
}

export function lastRows(sets: readonly (readonly unknown[])[]): readonly unknown[] {
  return sets.at(-1) ?? []
}
