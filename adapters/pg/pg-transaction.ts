import { TransactionError, type LentTransaction } from '../../src/index.ts'

/** What a handler gets as `ctx.tx`: the transaction that the mark is written in, in the shape of a client of `pg`. */
export interface PgTransaction {
  /**
   * Runs one statement in the transaction. It must be awaited before the handler ends. Several statements in one text are
   * refused by the server (42601).
   *
   * @throws TransactionError `TRANSACTION_OVER` once the handler has ended or was aborted, or has ended the transaction itself
   * @throws TypeError for a statement that would end the transaction, or a query object that outlives it (a cursor)
   */
  readonly query: <Row = Record<string, unknown>>(
    query: string | PgQuery,
    values?: readonly unknown[],
  ) => Promise<PgResult<Row>>
}

/** A `QueryConfig` of `pg`. PGlite has use for text and values only. */
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

/** Is told of the queries of handlers. */
export interface ToldOfQueries {
  readonly onFailed: (error: unknown) => void
  /** One was refused that came when its handler had ended. */
  readonly onLate: () => void
}

/** A view of an open transaction for one handler, which ends with it. */
export class LentPgTransaction implements LentTransaction<PgTransaction> {
  readonly tx: PgTransaction
  /** Results are those of `pg`. */
  readonly isOfPg: boolean
  readonly #run: RunQuery
  readonly #told: ToldOfQueries
  #pending = 0
  #isNested = false
  /** An ORM has it, which sends a query some microtasks after it was asked to. */
  #isWithOrm = false
  #isRevoked = false
  #hasFloated = false

  constructor(run: RunQuery, isOfPg: boolean, told: ToldOfQueries) {
    this.#run = run
    this.#told = told
    this.isOfPg = isOfPg
    this.tx = new Tx(this, (query, values) => this.#query(query, values))
  }

  get pending(): number {
    return this.#pending
  }

  /** Queries were pending when it was revoked, or an ORM's came after: no handler vouches for what they did, or did not. */
  get hasFloated(): boolean {
    return this.#hasFloated
  }

  giveToOrm(): void {
    this.#isWithOrm = true
  }

  /** Until `giveBack` it is pending as a query is: whoever has asked for a connection is not done. */
  take(): void {
    if (this.#isRevoked) throw this.#late()
    this.#pending++
  }

  giveBack(): void {
    this.#pending--
  }

  /** A transaction of an ORM is open within this one. */
  get isNested(): boolean {
    return this.#isNested
  }

  /** Until `unnest` it is pending as a query is: what its owner would still undo or add must not be committed. */
  nest(): void {
    this.#isNested = true
    this.#pending++
  }

  unnest(): void {
    this.#isNested = false
    this.#pending--
  }

  revoke(): number {
    if (!this.#isRevoked && this.#pending > 0) this.#hasFloated = true
    this.#isRevoked = true
    return this.#pending
  }

  #query(query: string | PgQuery, values: readonly unknown[] | undefined): Promise<PgResult<unknown>> {
    if (this.#isRevoked) return Promise.reject(this.#late())
    const problem = problemOf(query)
    if (problem !== undefined) return Promise.reject(new TypeError(problem))
    this.#pending++
    const result = this.#run(query, values === undefined ? undefined : [...values])
    // First to be told. Not awaited by its handler it is told as FLOATING_QUERY, and must not end the process as an unhandled rejection.
    result.then(
      () => void this.#pending--,
      (error: unknown) => {
        this.#pending--
        this.#told.onFailed(error)
      },
    )
    return result
  }

  #late(): TransactionError {
    if (this.#isWithOrm) this.#hasFloated = true
    this.#told.onLate()
    const text = 'ctx.tx is over: its handler has ended or was aborted. Await every query before the handler ends'
    return new TransactionError('TRANSACTION_OVER', text)
  }
}

/** Knows who lent it: a WeakMap that knows would be work for the garbage collector, with each message. */
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

/** What gave `tx` to a handler; `undefined` for anything else. */
export function lentAs(tx: PgTransaction): LentPgTransaction | undefined {
  return Tx.lentAs(tx)
}

export const OUTLIVES =
  'expected text or a query config, got a query object (a cursor or a stream): it outlives its call'

const ENDS_TRANSACTION =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/i

/**
 * A courtesy for what is written plainly. No pattern finds all of it: HandlerStatements notices what ends the transaction, and
 * a record is done by nobody's COMMIT but the store's (sql/read-records.ts).
 */
function problemOf(query: string | PgQuery): string | undefined {
  if (typeof query !== 'string' && 'submit' in query) {
    return `ctx.tx.query: ${OUTLIVES}`
  }
  const text = typeof query === 'string' ? query : query.text
  if (!ENDS_TRANSACTION.test(text)) return undefined
  return `ctx.tx.query: the transaction is the store's to end, got ${JSON.stringify(text.slice(0, 80))}. Use savepoints`
}
