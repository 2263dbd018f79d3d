import { HandlerStatements } from './handler-statements.ts'
import { LentPgTransaction, type ToldOfQueries } from './pg-transaction.ts'
import type { Session } from './session.ts'
import { isConflictOfTransactions } from './sql-errors.ts'

/** What a transaction has lent to handlers. */
export class Lending implements ToldOfQueries {
  readonly #session: Session
  readonly #lent: LentPgTransaction[] = []
  readonly #statements: HandlerStatements
  readonly #warn: () => void
  #hasLost = false
  #hasLate = false
  #isMarked = false

  /** `warn` is called where a query came too late to be in what was marked. */
  constructor(session: Session, warn: () => void) {
    this.#session = session
    this.#warn = warn
    this.#statements = new HandlerStatements(session)
  }

  /** A handler ended with queries that it did not await: nobody vouches for what they did. */
  get hasFloated(): boolean {
    return this.#lent.some((lent) => lent.hasFloated)
  }

  /** A query was chosen to lose against another transaction, by a deadlock: no handler is to blame. */
  get hasLost(): boolean {
    return this.#hasLost
  }

  lend(): LentPgTransaction {
    const lent = new LentPgTransaction(this.#statements.run, this.#session.isOfPg, this)
    this.#lent.push(lent)
    return lent
  }

  /** Takes everything back. A connection that still runs a query of a handler is not used again. */
  revoke(): void {
    const pending = this.#lent.reduce((sum, lent) => sum + lent.revoke(), 0)
    if (pending > 0) this.#session.spoil(new Error(`${pending} queries of a handler were still pending`))
  }

  /** What was lent is marked: nobody runs a message again for what was asked of it too late. */
  marked(): void {
    this.#isMarked = true
    if (this.#hasLate) this.#warn()
  }

  readonly onFailed = (error: unknown): void => {
    if (isConflictOfTransactions(error)) this.#hasLost = true
  }

  readonly onLate = (): void => {
    this.#hasLate = true
    if (this.#isMarked) this.#warn()
  }
}
