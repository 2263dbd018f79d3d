/** Statements without parameters, in their order. Its rows are those of the last statement that returns any. */
export interface Script<Row = unknown> {
  readonly statements: readonly string[]
  /** Never there: it says what the rows are. */
  readonly returns?: Row
}
