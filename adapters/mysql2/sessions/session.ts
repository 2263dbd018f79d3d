import { TransactionError } from '../../../src/internal.ts'
import { endedIdle } from '../../sql/idle-end.ts'
import { OpenSession } from '../../sql/open-session.ts'
import type { Lent, Limits, ToldOfQueries } from '../../sql/session.ts'
import { Turns } from '../../sql/turns.ts'
import {
  goesBack,
  LentMysqlTransaction,
  mayUseSavepoints,
  type MysqlQuery,
  type MysqlTransaction,
  type SendBy,
} from '../tx/mysql-transaction.ts'
import { leaves, mayLeave } from './leftovers.ts'
import type { PooledConnection, Rows } from './pooled-connection.ts'
import { errnoOf, ERRORS, explainRefusal, isAnotherTransaction, isConflictOfTransactions } from '../sql-errors.ts'
import { rowsOf, type Script } from '../statements/script.ts'
import {
  BEFORE_COMMIT,
  BEFORE_HANDLER,
  COMMIT,
  RELEASE_HANDLER,
  RIGHT_CLOCK,
  ROLLBACK,
  withoutHandlers,
  WRITABLE,
  type Bounds,
} from '../statements/transaction.ts'

/** MySQL says why it closes the connection, MariaDB does not. */
const IDLE_FOR_TOO_LONG = 4031

/** Bit of the status in an answer: a transaction is open. */
const IN_TRANSACTION = 1

/** What a session needs of the sessions that it is one of. */
interface Committing {
  readonly asOne: boolean
  readonly limits: Limits
  readonly bounds: Bounds
  committed<Row>(script: Script<Row>): Promise<readonly Row[]>
  commitOn<Row>(connection: PooledConnection, script: Script<Row>): Promise<readonly Row[]>
}

/** A connection with an open transaction. It ends with `commit`, `rollback` or `replace`, whatever they answer. */
export class MysqlSession extends OpenSession<MysqlTransaction, PooledConnection> {
  readonly #sessions: Committing
  #failure: TransactionError | undefined
  /** The handler whose savepoints the transaction may have. */
  #withSavepoints: object | undefined
  readonly #turns = new Turns()

  constructor(sessions: Committing, connection: PooledConnection, giveSlot: () => void) {
    super(connection, giveSlot)
    this.#sessions = sessions
  }

  get isChanged(): boolean {
    return this.connection.isRetired
  }

  /**
   * Why it must not be committed: a statement of a handler failed, so the handler's writes are incomplete, or it sent
   * nothing for so long that the server has ended the transaction.
   */
  get failure(): TransactionError | undefined {
    return this.#failure ?? this.#endedIdle
  }

  get #endedIdle(): TransactionError | undefined {
    const isSaid = errnoOf(this.connection.spoiledBy) === IDLE_FOR_TOO_LONG
    return endedIdle(this.connection, this.#sessions.limits.idleInTransactionTimeoutMs, isSaid, ERRORS)
  }

  lend(told: ToldOfQueries): Lent<MysqlTransaction> {
    const lent: LentMysqlTransaction = new LentMysqlTransaction((by, query, values) => {
      return this.query(lent, by, query, values)
    }, told)
    return lent
  }

  /** Sends the beginning of the transaction. If it is refused, nothing stays open, and `undo` runs instead. */
  start(statements: readonly string[], undo?: Script): Promise<readonly Rows[]> {
    return this.begun(this.#send(statements), undo === undefined ? undefined : () => this.runAlone(undo))
  }

  async run<Row>(script: Script<Row>): Promise<readonly Row[]> {
    return rowsOf(script, (await this.#send(script.statements)).at(-1))
  }

  #send(statements: readonly string[]): Promise<readonly Rows[]> {
    return this.connection.run(statements, this.#sessions.asOne)
  }

  /**
   * Runs a statement of a handler, with the limits of the handler and the pool. A failed statement undoes only itself,
   * or the whole transaction (a deadlock), after which the next statement would commit by itself. So no statement is
   * accepted after a failure, and none is sent before the previous one is answered.
   *
   * What a statement leaves in the session (another database, `sql_mode`, a lock) would outlive the transaction, and
   * reach whoever gets the connection next. So the connection goes to nobody else then.
   *
   * The handlers share the transaction and its savepoints: one handler could roll back to a savepoint of another and
   * undo its effect. So a handler that uses savepoints gets one of the store's below its own. The store releases it
   * after the handler, together with all of the handler's.
   */
  query(handler: object, by: SendBy, query: string | MysqlQuery, values?: unknown[]): Promise<[unknown, unknown]> {
    return this.#turns.take(() => this.#query(handler, by, query, values))
  }

  async #query(
    handler: object,
    by: SendBy,
    query: string | MysqlQuery,
    values?: unknown[],
  ): Promise<[unknown, unknown]> {
    if (this.isOver)
      throw new TransactionError('TRANSACTION_OVER', 'the transaction ended before its statement was sent')
    const idle = this.#endedIdle
    if (idle !== undefined) throw idle
    const isBack = goesBack(query)
    if (this.#failure !== undefined && !isBack) throw this.#failure
    if (mayUseSavepoints(query)) await this.#keepApart(handler)
    try {
      const result = await this.connection.query(by, query, values)
      if (leaves(query, result[0])) this.connection.retire()
      if (isBack) this.#failure = undefined
      if (hasEnded(result[0])) {
        const text = 'a statement of a handler has ended the transaction: what was written in it is committed'
        this.#failure = new TransactionError('TRANSACTION_OVER', text)
        this.connection.retire()
      }
      return result
    } catch (cause) {
      if (mayLeave(query)) this.connection.retire()
      if (errnoOf(cause) !== undefined) {
        const text =
          'a statement of a handler failed: let it reject, or roll back to a savepoint that was set before it'
        this.#failure ??= new TransactionError('COMMIT_REFUSED', text, { cause })
      }
      throw cause
    }
  }

  async #keepApart(handler: object): Promise<void> {
    if (this.#withSavepoints === handler) return
    try {
      await this.#send([...this.#releaseHandler(), BEFORE_HANDLER])
      this.#withSavepoints = handler
    } catch (cause) {
      // Permanent: no later rollback to a savepoint can clear it, because the savepoint of the store is gone.
      this.#failure ??= new TransactionError('COMMIT_REFUSED', explainRefusal(cause), { cause })
      throw this.#failure
    }
  }

  #releaseHandler(): readonly string[] {
    return this.#withSavepoints === undefined ? [] : [RELEASE_HANDLER] // mutant: mysql-commit-of-another-transaction 2
  }

  protected async sendCommit(last: readonly Script[]): Promise<'committed'> {
    const clock = this.connection.isRetired ? [RIGHT_CLOCK] : []
    try {
      await this.#send([...this.#releaseHandler(), BEFORE_COMMIT, ...clock, ...this.#ended(last)]) // mutant: mysql-commit-of-another-transaction
      return 'committed'
    } catch (error) {
      if (isAnotherTransaction(error)) this.retire()
      throw error
    }
  }

  protected async sendRelease(last: readonly Script[]): Promise<'released'> {
    await this.#send([...withoutHandlers(this.#sessions.limits), ...this.#ended(last)])
    return 'released'
  }

  #ended(last: readonly Script[]): readonly string[] {
    return [...last.flatMap(({ statements }) => statements), this.#sessions.bounds.asBefore, WRITABLE, COMMIT]
  }

  /** A deadlock has rolled it back as a whole: no handler has ended it. */
  protected isEndedByHandler(error: unknown): boolean {
    return isAnotherTransaction(error) && !isConflictOfTransactions(this.#failure?.cause)
  }

  protected runAlone<Row>(script: Script<Row>): Promise<readonly Row[]> {
    return this.#sessions.commitOn(this.connection, script)
  }

  protected committed<Row>(script: Script<Row>): Promise<readonly Row[]> {
    return this.#sessions.committed(script)
  }

  protected async sendRollback(last?: Script): Promise<void> {
    await this.#retireIfEnded()
    await this.#send([ROLLBACK, this.#sessions.bounds.asBefore, WRITABLE])
    if (last !== undefined) await this.runAlone(last)
  }

  /**
   * A statement of a handler that fails may have ended the transaction before that (DDL). What the handler has set
   * outlives its transaction, so the connection is closed.
   */
  async #retireIfEnded(): Promise<void> {
    if (this.#failure === undefined || this.connection.isRetired) return
    await this.#send([BEFORE_COMMIT]).catch((error: unknown) => {
      if (isAnotherTransaction(error)) this.connection.retire()
    })
  }
}

/** Answers without rows carry the status of the connection, and so does the last result of a procedure. */
function hasEnded(answer: unknown): boolean {
  const result: unknown = Array.isArray(answer) && Array.isArray(answer[0]) ? answer.at(-1) : answer
  if (typeof result !== 'object' || result === null || !('serverStatus' in result)) return false
  return typeof result.serverStatus === 'number' && (result.serverStatus & IN_TRANSACTION) === 0
}
