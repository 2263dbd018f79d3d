import { TransactionError } from '../../src/index.ts'
import type { PgQuery, PgResult, RunQuery } from './pg-transaction.ts'
import type { Session } from './session.ts'
import { Turns } from './turns.ts'

/**
 * Statements of the handlers of one transaction, one after the other. Whoever ends the transaction of the store by itself
 * writes outside of it from then on, each statement for good: so none is sent after one that may have, before the store has
 * looked. What was written until then is lost with a ROLLBACK, and with a COMMIT its records are torn (sql/read-records.ts).
 */
export class HandlerStatements {
  readonly #session: Session
  readonly #turns = new Turns()
  #hasEnded = false

  constructor(session: Session) {
    this.#session = session
  }

  readonly run: RunQuery = (query, values) => this.#turns.take(() => this.#run(query, values))

  async #run(query: string | PgQuery, values: unknown[] | undefined): Promise<PgResult<unknown>> {
    if (this.#hasEnded) throw hasEnded()
    const text = typeof query === 'string' ? query : query.text
    let result: PgResult<unknown>
    try {
      result = await this.#session.query(query, values)
    } catch (error) {
      // A COMMIT that fails has ended it too.
      if (MAY_END.test(text) && this.#session.spoiledBy === undefined) this.#hasEnded = !(await this.#isStillOpen())
      throw error
    }
    if (!mayHaveEnded(text, result) || (await this.#isStillOpen())) return result
    this.#hasEnded = true
    throw hasEnded()
  }

  /** Where nobody answers, the connection is given up. */
  #isStillOpen(): Promise<boolean> {
    return this.#session.isStillOpen().catch((error: unknown) => {
      this.#session.spoil(error)
      return false
    })
  }
}

/** Each statement that ends a transaction has one of these words, however it is written: keywords cannot be escaped. */
const MAY_END = /commit|rollback|end|abort|prepare/i

/** A client of `pg` tells what the server has done; PGlite does not, and several results are of a client too old to send one statement. */
function mayHaveEnded(text: string, result: PgResult<unknown> & { readonly command?: unknown }): boolean {
  if (Array.isArray(result) || typeof result.command !== 'string') return MAY_END.test(text)
  return ENDS.has(result.command)
}

/** A ROLLBACK may be one to a savepoint. */
const ENDS = new Set(['COMMIT', 'ROLLBACK', 'PREPARE'])

function hasEnded(): TransactionError {
  const text = "a statement of a handler has ended the transaction, which is the store's to end"
  return new TransactionError('TRANSACTION_OVER', text)
}
