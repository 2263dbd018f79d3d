import { TransactionError, type LentTransaction } from '../../src/internal.ts'
import type { Lent, ToldOfQueries } from './session.ts'

/** A view of an open transaction for one handler. It ends with the handler. */
export abstract class LentHandle<Tx> implements Lent<Tx>, LentTransaction<Tx> {
  abstract readonly tx: Tx
  readonly #told: ToldOfQueries
  #pending = 0
  /** The transaction was given to an ORM, which sends a query some microtasks after the call. */
  #isWithOrm = false
  #isRevoked = false
  #hasFloated = false

  constructor(told: ToldOfQueries) {
    this.#told = told
  }

  get pending(): number {
    return this.#pending
  }

  get hasFloated(): boolean {
    return this.#hasFloated
  }

  giveToOrm(): void {
    this.#isWithOrm = true
  }

  /** Until `giveBack` it counts as a pending query: a caller that has taken a connection is not done. */
  take(): void {
    if (this.#isRevoked) throw this.#late()
    this.#pending++
  }

  giveBack(): void {
    this.#pending--
  }

  revoke(): number {
    if (!this.#isRevoked && this.#pending > 0) this.#hasFloated = true
    this.#isRevoked = true
    return this.#pending
  }

  /** Sends a query, unless it has a `problem`. */
  protected send<T>(problemOf: () => string | undefined, query: () => Promise<T>): Promise<T> {
    if (this.#isRevoked) return Promise.reject(this.#late())
    const problem = problemOf()
    if (problem !== undefined) return Promise.reject(new TypeError(problem))
    this.#pending++
    const result = query().then(
      (value) => {
        this.#pending--
        const floated = this.#isRevoked ? this.#told.floated() : undefined
        if (floated === undefined) return value
        result.catch(() => {})
        throw floated
      },
      (error: unknown) => {
        this.#pending--
        this.#told.onFailed(error)
        // If the handler does not await the query, FLOATING_QUERY reports it, and a rejection must not end the process
        // as unhandled.
        result.catch(() => {})
        throw this.#told.floated(error) ?? error
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
