import type { Script as AnyScript } from '../../sql/session.ts'

/** Statements without parameters, sent in one message. The rows are those of the last one. */
export interface Script<Row = unknown> extends AnyScript<Row> {
  readonly text: string
}

/** One statement. With `values` it uses the extended protocol. */
export interface Statement<Row = unknown> extends Script<Row> {
  readonly values?: readonly unknown[]
}
