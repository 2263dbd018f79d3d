import type { SqlErrors } from '../../sql/errors.ts'
import type { Limits, Opened, Opening, Sessions } from '../../sql/session.ts'
import { slotsOf, type Slots } from '../../sql/slots.ts'
import { askedUntilFine } from '../../sql/taken-connection.ts'
import type { MysqlPoolLike } from '../clients.ts'
import { ERRORS } from '../sql-errors.ts'
import { lastRows, rowsOf, type Script } from '../statements/script.ts'
import {
  BEFORE_HANDLERS,
  BEGIN_NEXT,
  boundsOf,
  COMMIT,
  OPENED,
  ROLLBACK,
  WAIT_AS_BEFORE,
  type Bounds,
  type IdleLimit,
} from '../statements/transaction.ts'
import type { MysqlTransaction } from '../tx/mysql-transaction.ts'
import { PooledConnection, type Rows } from './pooled-connection.ts'
import { MysqlSession } from './session.ts'

/**
 * Transactions on connections of a pool. No transaction waits for another connection. One connection is kept free for
 * short statements, which would otherwise wait for handlers.
 */
export class MysqlSessions implements Sessions<MysqlTransaction> {
  readonly errors: SqlErrors = ERRORS
  /** The server takes compound statements, so a script is one message. Known after the server was checked. */
  asOne = false
  readonly limits: Limits
  readonly #pool: MysqlPoolLike
  readonly #slots: Slots
  readonly #max: number
  #bounds: Bounds

  constructor(pool: MysqlPoolLike, max: number, limits: Limits) {
    this.#pool = pool
    this.#max = max
    this.limits = limits
    this.#bounds = boundsOf(limits, [])
    this.#slots = slotsOf(pool, max - 1)
  }

  get bounds(): Bounds {
    return this.#bounds
  }

  /** From now on the limits of the session do not end its transactions. */
  lift(idleLimits: readonly IdleLimit[]): void {
    this.#bounds = boundsOf(this.limits, idleLimits)
  }

  /** `sets`: the rows of each statement of `first` that returns any. */
  async begin<Row>(
    first: Script<Row>,
  ): Promise<{ readonly session: MysqlSession; readonly rows: readonly Row[]; readonly sets: readonly Rows[] }> {
    const session = await this.#session()
    const sets = await session.start([...this.#bounds.begin, OPENED, ...first.statements, WAIT_AS_BEFORE])
    return { session, rows: rowsOf(first, sets.at(-1)), sets }
  }

  /** As `begin`, for handlers, after attempts were counted. If the server refuses, the count is undone. */
  async claim<Row, Counted>({
    count,
    uncount,
    first,
  }: Opening<Script<Counted>, Script, Script<Row>>): Promise<Opened<MysqlSession, Row, Counted>> {
    const session = await this.#session()
    const counted = [...this.#bounds.begin, ...count.statements, COMMIT]
    const opened = [...BEGIN_NEXT, OPENED, ...first.statements, BEFORE_HANDLERS, WAIT_AS_BEFORE]
    const sets = await session.start([...counted, ...opened], uncount)
    return { session, rows: rowsOf(first, sets.at(-1)), counted: rowsOf(count, sets[0]) }
  }

  async #session(): Promise<MysqlSession> {
    await this.#slots.take()
    try {
      return new MysqlSession(this, await this.#connect(), () => this.#slots.give())
    } catch (error) {
      this.#slots.give()
      throw error
    }
  }

  /** Runs a script in a short transaction of its own: it is committed when it resolves. */
  async committed<Row>(script: Script<Row>): Promise<readonly Row[]> {
    return this.using((connection) => this.commitOn(connection, script))
  }

  async briefly(script: Script): Promise<void> {
    await this.committed(script)
  }

  /** As `committed`, on a connection without a transaction. */
  async commitOn<Row>(connection: PooledConnection, script: Script<Row>): Promise<readonly Row[]> {
    return this.#run(connection, script, [this.#bounds.asBefore, COMMIT])
  }

  /** As `committed`, but rolls back: whether the script could be committed, as far as a server tells before a COMMIT. */
  async undone(script: Script): Promise<void> {
    await this.using((connection) => this.#run(connection, script, [ROLLBACK, this.#bounds.asBefore]))
  }

  async #run<Row>(connection: PooledConnection, script: Script<Row>, end: readonly string[]): Promise<readonly Row[]> {
    try {
      const all = [...this.#bounds.begin, ...script.statements, ...end]
      return rowsOf(script, lastRows(await connection.run(all, this.asOne)))
    } catch (error) {
      if (connection.spoiledBy === undefined) {
        const back = connection.run([ROLLBACK, this.#bounds.asBefore], this.asOne)
        await back.catch((cause: unknown) => connection.spoil(cause))
      }
      throw error
    }
  }

  /** Runs one statement, and commits whatever `autocommit` is in the session. */
  asked<Row>(statement: string): Promise<readonly Row[]> {
    return this.using(
      async (connection) => lastRows(await connection.run([statement, COMMIT], false)) as readonly Row[],
    )
  }

  /** As `askedUntilFine`. */
  settled<T>(ask: (connection: PooledConnection) => Promise<T>, isFine: (answer: T) => boolean): Promise<T> {
    return askedUntilFine(this.#max, () => this.#connect(), ask, isFine)
  }

  /** Lends a connection without a transaction. */
  async using<T>(work: (connection: PooledConnection) => Promise<T>): Promise<T> {
    const connection = await this.#connect()
    try {
      return await work(connection)
    } finally {
      connection.close()
    }
  }

  #connect(): Promise<PooledConnection> {
    return PooledConnection.open(this.#pool, this.limits.queryTimeoutMs)
  }
}
