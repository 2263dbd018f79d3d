import { TransactionError } from '../../../src/internal.ts'
import type { PgQuery, PgResult, RunQuery } from '../tx/pg-transaction.ts'
import type { PgSession } from './session.ts'
import { changes, leaves } from './leftovers.ts'
import { explainRefusal, isFailedTransaction, isUndone } from '../sql-errors.ts'
import { beforeHandler, IS_OPEN, releaseHandler } from '../statements/transaction.ts'
import { Turns } from '../../sql/turns.ts'

/**
 * Runs the statements of the handlers of one transaction, one after the other. If a handler ends the store's
 * transaction, its later writes are outside of it and each is committed at once. So after a statement that may have
 * ended it, nothing is sent before the store has checked. After a ROLLBACK the earlier writes are lost; after a COMMIT
 * the records are torn (inbox/statements/records.ts).
 *
 * The handlers share the transaction and its savepoints: one handler could roll back to a savepoint of another and undo
 * its effect. So a handler that uses savepoints gets one of the store's below its own. The store releases it after the
 * handler, together with all of the handler's. That fails if the handler has rolled back further.
 *
 * A connection whose session a handler may have changed goes to nobody else after the transaction.
 */
export class HandlerStatements {
  readonly #session: PgSession
  readonly #turns = new Turns()
  #hasEnded = false
  #handlers = 0
  /** The handler whose savepoints the transaction may have. */
  #withSavepoints: number | undefined

  constructor(session: PgSession) {
    this.#session = session
  }

  /**
   * Statements that release the savepoints of the last handler that used any. They run before the COMMIT, and fail with
   * 3B001 or 22P02 if a handler has undone more than its own writes.
   */
  get release(): readonly string[] {
    return this.#withSavepoints === undefined ? [] : [releaseHandler(this.#withSavepoints)] // mutant: pg-commit-of-another-transaction 2
  }

  forHandler(): RunQuery {
    const handler = ++this.#handlers
    return (query, values) => this.#turns.take(() => this.#run(handler, query, values))
  }

  async #run(handler: number, query: string | PgQuery, values: unknown[] | undefined): Promise<PgResult<unknown>> {
    if (this.#hasEnded) throw hasEnded()
    const text = typeof query === 'string' ? query : query.text
    if (USES_SAVEPOINTS.test(text)) await this.#keepApart(handler) // mutant: pg-savepoints-shared
    if (changes(text)) this.#session.changed()
    let result: PgResult<unknown>
    try {
      result = await this.#session.query(query, values)
      if (leaves(text, valuesOf(query, values), commandOf(result))) this.#session.retire()
    } catch (error) {
      if (leaves(text, valuesOf(query, values), undefined)) this.#session.retire()
      // A COMMIT that fails has ended the transaction too.
      if (MAY_END.test(text) && this.#session.spoiledBy === undefined) await this.#isStillOpen()
      throw error
    }
    if (!mayHaveEnded(text, result) || (await this.#isStillOpen())) return result
    throw hasEnded()
  }

  async #keepApart(handler: number): Promise<void> {
    if (this.#withSavepoints === handler) return
    if (this.#withSavepoints !== undefined) await this.#releaseHandler(this.#withSavepoints)
    await this.#session.run({ text: beforeHandler(handler) })
    this.#withSavepoints = handler
  }

  async #releaseHandler(handler: number): Promise<void> {
    try {
      await this.#session.run({ text: releaseHandler(handler) })
    } catch (cause) {
      if (!isUndone(cause)) throw cause
      throw new TransactionError('COMMIT_REFUSED', `an earlier message of the batch: ${explainRefusal(cause)}`, {
        cause,
      })
    }
  }

  /** A handler may have ended the transaction that was begun with any text. */
  async #ask(): Promise<boolean> {
    try {
      const [row] = await this.#session.run(IS_OPEN)
      return row?.is_open === true
    } catch (error) {
      if (isFailedTransaction(error)) return true
      throw error
    }
  }

  /** If there is no answer, the connection is given up. */
  async #isStillOpen(): Promise<boolean> {
    const isOpen = await this.#ask().catch((error: unknown) => {
      this.#session.spoil(error)
      return false
    })
    if (!isOpen) this.#session.retire()
    this.#hasEnded = !isOpen
    return isOpen
  }
}

/** Keywords cannot be escaped, and neither of these is part of another one. */
const USES_SAVEPOINTS = /savepoint|rollback/i

/**
 * Every statement that ends a transaction contains one of these words, however it is written: keywords cannot be
 * escaped.
 */
const MAY_END = /commit|rollback|end|abort|prepare/i

/**
 * `pg` returns the command that the server executed; PGlite does not. Several results come from a client that is too
 * old to send a single statement.
 */
function mayHaveEnded(text: string, result: PgResult<unknown> & { readonly command?: unknown }): boolean {
  if (Array.isArray(result) || typeof result.command !== 'string') return MAY_END.test(text)
  return ENDS.has(result.command)
}

/** Of the last statement, if a client that is too old to send a single one has sent several. */
function commandOf(result: PgResult<unknown> | readonly PgResult<unknown>[]): string | null | undefined {
  const last = Array.isArray(result) ? result.at(-1) : result
  return (last as { readonly command?: string | null } | undefined)?.command
}

function valuesOf(query: string | PgQuery, values: readonly unknown[] | undefined): readonly unknown[] | undefined {
  return values ?? (typeof query === 'string' ? undefined : query.values)
}

/** A ROLLBACK may be one to a savepoint. */
const ENDS = new Set(['COMMIT', 'ROLLBACK', 'PREPARE'])

function hasEnded(): TransactionError {
  const text = "a statement of a handler has ended the transaction, which is the store's to end"
  return new TransactionError('TRANSACTION_OVER', text)
}
