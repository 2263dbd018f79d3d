/** A call of a handler on its `tx`, such as `tx.query('insert …', [1])`. */
export interface TxCall {
  readonly method: string
  readonly args: readonly unknown[]
}
