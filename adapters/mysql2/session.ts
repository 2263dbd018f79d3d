import { StoreError, TransactionError } from '../../src/index.ts'
import { goesBack, type MysqlQuery, type SendBy } from './mysql-transaction.ts'
import type { PooledConnection, Rows } from './pooled-connection.ts'
import { errnoOf, isRefusal } from './sql-errors.ts'
import type { Sessions } from './sessions.ts'
import type { Script } from './sql/script.ts'
import { AS_BEFORE, BEFORE_COMMIT } from './sql/transaction.ts'

/** In the status that an answer carries: a transaction is open. */
const IN_TRANSACTION = 1

/** A connection with an open transaction. Over after `commit`, `rollback` or `replace`, whatever they answer. */
export class Session {
  readonly #sessions: Sessions
  readonly #connection: PooledConnection
  readonly #giveSlot: () => void
  #failure: TransactionError | undefined
  #lastOfHandlers: Promise<unknown> = Promise.resolve()
  #isOver = false

  constructor(sessions: Sessions, connection: PooledConnection, giveSlot: () => void) {
    this.#sessions = sessions
    this.#connection = connection
    this.#giveSlot = giveSlot
  }

  /** Why the transaction cannot be committed any more: its connection is gone, or was spoiled. */
  get spoiledBy(): unknown {
    return this.#connection.spoiledBy
  }

  /** Why it must not be committed: a statement of a handler failed, and what it has left is not what the handler meant. */
  get failure(): TransactionError | undefined {
    return this.#failure
  }

  /** Something may still run on the connection, or nobody knows: what ends the transaction closes it too. */
  spoil(cause: unknown): void {
    this.#connection.spoil(cause)
  }

  /** Runs statements of the store itself. */
  run(statements: readonly string[]): Promise<readonly Rows[]> {
    return this.#connection.run(statements, this.#sessions.asOne)
  }

  /**
   * Runs a statement of a handler; its time is the handler's and the pool's own. A failed statement undoes itself alone, or the
   * whole transaction (a deadlock), after which the next would commit by itself: so none is let through after it, and none is
   * sent before the one before it is answered.
   */
  query(by: SendBy, query: string | MysqlQuery, values?: unknown[]): Promise<[unknown, unknown]> {
    const answer = this.#lastOfHandlers.then(() => this.#query(by, query, values))
    this.#lastOfHandlers = answer.catch(() => {})
    return answer
  }

  async #query(by: SendBy, query: string | MysqlQuery, values?: unknown[]): Promise<[unknown, unknown]> {
    if (this.#isOver)
      throw new TransactionError('TRANSACTION_OVER', 'the transaction ended before its statement was sent')
    const isBack = goesBack(query)
    if (this.#failure !== undefined && !isBack) throw this.#failure
    try {
      const result = await this.#connection.query(by, query, values)
      if (isBack) this.#failure = undefined
      if (hasEnded(result[0])) {
        const text = 'a statement of a handler has ended the transaction: what was written in it is committed'
        this.#failure = new TransactionError('TRANSACTION_OVER', text)
      }
      return result
    } catch (cause) {
      if (errnoOf(cause) !== undefined) {
        const text =
          'a statement of a handler failed: let it reject, or roll back to a savepoint that was set before it'
        this.#failure ??= new TransactionError('COMMIT_REFUSED', text, { cause })
      }
      throw cause
    }
  }

  /**
   * Runs `last` and commits. Rejects, without a commit, where the transaction is not the one that was begun; what is no
   * refusal leaves open whether it was committed.
   */
  async commit(last: Script): Promise<void> {
    try {
      if (this.spoiledBy !== undefined) {
        const text = 'the connection was lost before the COMMIT was sent: nothing was committed'
        throw new StoreError('STORE_UNREACHABLE', text, { cause: this.spoiledBy })
      }
      await this.run([BEFORE_COMMIT, ...last.statements, AS_BEFORE, 'commit'])
      this.#end()
    } catch (error) {
      if (isRefusal(error)) await this.rollback()
      else this.#end()
      throw error
    }
  }

  /** Where `refund` can be committed before, it is: nobody can claim the keys of a transaction that is still open. */
  async rollback(refund?: Script): Promise<void> {
    try {
      if (refund !== undefined) await this.#sessions.committed(refund)
    } finally {
      await this.#rollBack()
      this.#end()
    }
  }

  /** Rolls back, then runs a script that commits by itself, before anyone else has the connection. */
  async replace<Row>(script: Script<Row>): Promise<readonly Row[]> {
    await this.#rollBack()
    try {
      if (this.spoiledBy === undefined) return await this.#sessions.commitOn(this.#connection, script)
    } finally {
      this.#end()
    }
    return this.#sessions.committed(script)
  }

  /** A rollback that is not answered is one all the same, once the connection is closed. */
  async #rollBack(): Promise<void> {
    if (this.spoiledBy !== undefined || this.#isOver) return
    await this.run(['rollback', AS_BEFORE]).catch((error: unknown) => this.spoil(error))
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection.close()
    this.#giveSlot()
  }
}

/** Answers without rows carry the status of the connection; so does what comes after the rows of a procedure. */
function hasEnded(answer: unknown): boolean {
  const result: unknown = Array.isArray(answer) && Array.isArray(answer[0]) ? answer.at(-1) : answer
  if (typeof result !== 'object' || result === null || !('serverStatus' in result)) return false
  return typeof result.serverStatus === 'number' && (result.serverStatus & IN_TRANSACTION) === 0
}
