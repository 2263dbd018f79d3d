import { LentPgTransaction } from './pg-transaction.ts'
import type { Session } from './session.ts'

/** What a transaction has lent to handlers. */
export class Lending {
  readonly #session: Session
  readonly #lent: LentPgTransaction[] = []

  constructor(session: Session) {
    this.#session = session
  }

  /** A handler ended with queries that it did not await: nobody vouches for what they did. */
  get hasFloated(): boolean {
    return this.#lent.some((lent) => lent.hasFloated)
  }

  lend(): LentPgTransaction {
    const lent = new LentPgTransaction((query, values) => this.#session.query(query, values), this.#session)
    this.#lent.push(lent)
    return lent
  }

  /** Takes everything back. A connection that still runs a query of a handler is not used again. */
  revoke(): void {
    const pending = this.#lent.reduce((sum, lent) => sum + lent.revoke(), 0)
    if (pending > 0) this.#session.spoil(new Error(`${pending} queries of a handler were still pending`))
  }
}
