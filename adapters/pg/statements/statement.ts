/** Statements without parameters, sent in one message. The rows are those of the last one. */
export interface Script<Row = unknown> {
  readonly text: string
  /** Type of the rows only; never set. */
  readonly returns?: Row
}

/** One statement. With `values` it uses the extended protocol. */
export interface Statement<Row = unknown> extends Script<Row> {
  readonly values?: readonly unknown[]
}
