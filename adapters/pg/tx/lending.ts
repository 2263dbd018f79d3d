import { HandlerStatements } from './handler-statements.ts'
import { LentPgTransaction, type ToldOfQueries } from './pg-transaction.ts'
import type { Session } from '../sessions/session.ts'
import { isConflictOfTransactions } from '../sql-errors.ts'
import type { Script } from '../statements/statement.ts'

/** Tracks the handles that a transaction has lent to handlers. */
export class Lending implements ToldOfQueries {
  readonly #session: Session
  readonly #lent: LentPgTransaction[] = []
  readonly #statements: HandlerStatements
  readonly #warn: () => void
  #hasLost = false
  #hasLate = false
  #isMarked = false

  /** `warn` is called if a query came too late to be part of the marked transaction. */
  constructor(session: Session, warn: () => void) {
    this.#session = session
    this.#warn = warn
    this.#statements = new HandlerStatements(session)
  }

  /** A handler ended with queries that it did not await, so their effect is unknown. */
  get hasFloated(): boolean {
    return this.#lent.some((lent) => lent.hasFloated)
  }

  /** A query was a deadlock victim: no handler is at fault. */
  get hasLost(): boolean {
    return this.#hasLost
  }

  /**
   * The final statements, after the savepoints of handlers. Fails with 3B001 or 22P02 if a handler has undone more than
   * its own writes.
   */
  behindHandlers(last: Script): Script {
    const { release } = this.#statements
    return release === undefined ? last : { text: `${release};\n${last.text}` }
  }

  lend(): LentPgTransaction {
    const lent = new LentPgTransaction(this.#statements.forHandler(), this.#session.isOfPg, this)
    this.#lent.push(lent)
    return lent
  }

  /** Revokes all handles. A connection that still runs a query of a handler is not used again. */
  revoke(): void {
    const pending = this.#lent.reduce((sum, lent) => sum + lent.revoke(), 0)
    if (pending > 0) this.#session.spoil(new Error(`${pending} queries of a handler were still pending`))
  }

  /** The transaction is marked: a query that came too late will not run again, because its message is done. */
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
