/** Statements without parameters, sent in one message. Its rows are those of the last one. */
export interface Script<Row = unknown> {
  readonly text: string
  /** Never there: it says what the rows are. */
  readonly returns?: Row
}

/** One statement; with `values` in the extended protocol. */
export interface Statement<Row = unknown> extends Script<Row> {
  readonly values?: readonly unknown[]
}
