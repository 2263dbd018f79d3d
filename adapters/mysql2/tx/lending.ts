import { LentMysqlTransaction } from './mysql-transaction.ts'
import type { Session } from '../sessions/session.ts'

/** Tracks the handles that a transaction has lent to handlers. */
export class Lending {
  readonly #session: Session
  readonly #lent: LentMysqlTransaction[] = []

  constructor(session: Session) {
    this.#session = session
  }

  /** A handler ended with queries that it did not await, so their effect is unknown. */
  get hasFloated(): boolean {
    return this.#lent.some((lent) => lent.hasFloated)
  }

  lend(): LentMysqlTransaction {
    const lent: LentMysqlTransaction = new LentMysqlTransaction((by, query, values) =>
      this.#session.query(lent, by, query, values),
    )
    this.#lent.push(lent)
    return lent
  }

  /** Revokes all handles. A connection that still runs a query of a handler is not used again. */
  revoke(): void {
    const pending = this.#lent.reduce((sum, lent) => sum + lent.revoke(), 0)
    if (pending > 0) this.#session.spoil(new Error(`${pending} queries of a handler were still pending`))
  }
}
