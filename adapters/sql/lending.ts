import { TransactionError } from '../../src/internal.ts'
import type { SqlErrors } from './errors.ts'
import type { Lent, Session, ToldOfQueries } from './session.ts'

/** Tracks the handles that a transaction has lent to handlers. */
export class Lending<Tx> implements ToldOfQueries {
  readonly #session: Session<Tx>
  readonly #errors: SqlErrors
  readonly #lent: Lent<Tx>[] = []
  readonly #warn: () => void
  #hasLost = false
  #hasLate = false
  /** The connection is given up under a query that is under way. */
  #hasCut = false
  #isMarked = false

  /** `warn` is called if a query came too late to be part of the marked transaction. */
  constructor(session: Session<Tx>, errors: SqlErrors, warn: () => void) {
    this.#session = session
    this.#errors = errors
    this.#warn = warn
  }

  /** A handler ended with queries that it did not await, so their effect is unknown. */
  get hasFloated(): boolean {
    return this.#lent.some((lent) => lent.hasFloated)
  }

  /** A query was a deadlock victim: no handler is at fault. */
  get hasLost(): boolean {
    return this.#hasLost
  }

  lend(): Lent<Tx> {
    const lent = this.#session.lend(this)
    this.#lent.push(lent)
    return lent
  }

  /** Revokes all handles. A connection that still runs a query of a handler is not used again. */
  revoke(): void {
    const pending = this.#lent.reduce((sum, lent) => sum + lent.revoke(), 0)
    if (pending === 0) return
    this.#hasCut = true
    this.#session.spoil(new Error(`${pending} queries of a handler were still pending`))
  }

  /** The transaction is marked: a query that came too late will not run again, because its message is done. */
  marked(): void {
    this.#isMarked = true
    if (this.#hasLate) this.#warn()
  }

  readonly onFailed = (error: unknown): void => {
    if (this.#errors.isConflict(error)) this.#hasLost = true
  }

  readonly floated = (cause?: unknown): Error | undefined => {
    if (!this.#hasCut) return undefined
    const text = 'this query was under way when its handler ended or was aborted: the transaction is rolled back'
    return new TransactionError('FLOATING_QUERY', text, { cause })
  }

  readonly onLate = (): void => {
    this.#hasLate = true
    if (this.#isMarked) this.#warn()
  }
}
