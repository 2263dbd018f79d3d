import { LentHandle } from '../../sql/lent-handle.ts'
import type { ToldOfQueries } from '../../sql/session.ts'

/** `ctx.tx` of a handler: the transaction in which the mark is written, with the `query` method of `pg`. */
export interface PgTransaction {
  /**
   * Runs one statement in the transaction. Await it before the handler ends. The server refuses several statements in
   * one text (42601). A statement that changes its session (`set` without `local`, `listen`, `pg_advisory_lock`) costs the
   * connection, which is closed after the transaction.
   *
   * @throws TransactionError `TRANSACTION_OVER` after the handler has ended, was aborted, or has ended the transaction
   * itself; and if the server has ended it because nothing was sent for `idleInTransactionTimeoutMs`
   * @throws TypeError for a statement that would end the transaction, or a query object that outlives it (a cursor)
   */
  readonly query: <Row = Record<string, unknown>>(
    query: string | PgQuery,
    values?: readonly unknown[],
  ) => Promise<PgResult<Row>>
}

/** A `QueryConfig` of `pg`. PGlite uses text and values only. */
export interface PgQuery {
  readonly text: string
  readonly values?: unknown[] | undefined
  readonly name?: string | undefined
  readonly rowMode?: 'array' | undefined
  readonly types?: unknown
}

export interface PgResult<Row> {
  rows: Row[]
  rowCount: number | null
}

/** Runs a statement of a handler. */
export type RunQuery = (query: string | PgQuery, values?: unknown[]) => Promise<PgResult<unknown>>

/** The handle of a handler on its transaction. */
export class LentPgTransaction extends LentHandle<PgTransaction> {
  readonly tx: PgTransaction
  /** Results are those of `pg`. */
  readonly isOfPg: boolean
  #isNested = false

  constructor(run: RunQuery, isOfPg: boolean, told: ToldOfQueries) {
    super(told)
    this.isOfPg = isOfPg
    this.tx = new Tx(this, (query, values) =>
      this.send(
        () => problemOf(query),
        () => run(query, values === undefined ? undefined : [...values]),
      ),
    )
  }

  /** A transaction of an ORM is open within this one. */
  get isNested(): boolean {
    return this.#isNested
  }

  /** Until `unnest` it counts as a pending query: an open nested transaction must not be committed. */
  nest(): void {
    this.#isNested = true
    this.take()
  }

  unnest(): void {
    this.#isNested = false
    this.giveBack()
  }
}

/** The class refers to its lender in a private field: a WeakMap would cost garbage collection for each message. */
class Tx implements PgTransaction {
  readonly query: PgTransaction['query']
  readonly #lent: LentPgTransaction

  constructor(lent: LentPgTransaction, query: (...given: Parameters<PgTransaction['query']>) => Promise<unknown>) {
    this.query = query as PgTransaction['query']
    this.#lent = lent
    Object.freeze(this)
  }

  static lentAs(tx: unknown): LentPgTransaction | undefined {
    return typeof tx === 'object' && tx !== null && #lent in tx ? tx.#lent : undefined
  }
}

/** The lender of a `tx`; `undefined` for any other value. */
export function lentAs(tx: PgTransaction): LentPgTransaction | undefined {
  return Tx.lentAs(tx)
}

export const OUTLIVES =
  'expected text or a query config, got a query object (a cursor or a stream): it outlives its call'

const ENDS_TRANSACTION =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/i

/**
 * Catches the plain forms only, for a better message. HandlerStatements notices everything that ends the transaction,
 * and only the store's own COMMIT makes a record done (inbox/statements/records.ts).
 */
function problemOf(query: string | PgQuery): string | undefined {
  if (typeof query !== 'string' && 'submit' in query) {
    return `ctx.tx.query: ${OUTLIVES}`
  }
  const text = typeof query === 'string' ? query : query.text
  if (!ENDS_TRANSACTION.test(text)) return undefined
  return `ctx.tx.query: the transaction is the store's to end, got ${JSON.stringify(text.slice(0, 80))}. Use savepoints`
}
