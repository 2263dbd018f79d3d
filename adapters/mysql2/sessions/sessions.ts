import type { Limits } from '../options.ts'
import { PooledConnection, type Rows } from './pooled-connection.ts'
import { Session } from './session.ts'
import type { MysqlPoolLike } from '../clients.ts'
import { slotsOf, type Slots } from '../../sql/slots.ts'
import { lastRows, type Script } from '../statements/script.ts'
import { AS_BEFORE, begin, OPENED, WAIT_AS_BEFORE } from '../statements/transaction.ts'

/**
 * Transactions on connections of a pool. One connection is kept free to count attempts: if transactions could take all
 * of them, each would wait for a connection that only another one can give back.
 */
export class Sessions {
  /** The server takes compound statements, so a script is one message. Known after the server was checked. */
  asOne = false
  readonly #pool: MysqlPoolLike
  readonly #limits: Limits
  readonly #slots: Slots

  constructor(pool: MysqlPoolLike, max: number, limits: Limits) {
    this.#pool = pool
    this.#limits = limits
    this.#slots = slotsOf(pool, max - 1)
  }

  /**
   * Opens a transaction and runs `first` in it, with a lock timeout. Waits for a slot while too many are open. If it
   * rejects, nothing stays open. Resolves with the rows of each statement that returns any.
   */
  async begin({ statements: first }: Script): Promise<{ readonly session: Session; readonly sets: readonly Rows[] }> {
    await this.#slots.take()
    let connection: PooledConnection
    try {
      connection = await this.#connect()
    } catch (error) {
      this.#slots.give()
      throw error
    }
    const session = new Session(this, connection, () => this.#slots.give())
    try {
      return { session, sets: await session.run([...begin(this.#limits), OPENED, ...first, WAIT_AS_BEFORE]) }
    } catch (error) {
      await session.rollback()
      throw error
    }
  }

  /** Runs a script in a short transaction of its own: it is committed when it resolves. */
  async committed<Row>(script: Script<Row>): Promise<readonly Row[]> {
    return this.using((connection) => this.commitOn(connection, script))
  }

  /** As `committed`, on a connection without a transaction. */
  async commitOn<Row>(connection: PooledConnection, { statements }: Script<Row>): Promise<readonly Row[]> {
    try {
      const all = [...begin(this.#limits), ...statements, AS_BEFORE, 'commit']
      return lastRows(await connection.run(all, this.asOne)) as readonly Row[]
    } catch (error) {
      if (connection.spoiledBy === undefined) {
        const back = connection.run(['rollback', AS_BEFORE], this.asOne)
        await back.catch((cause: unknown) => connection.spoil(cause))
      }
      throw error
    }
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
    return PooledConnection.open(this.#pool, this.#limits.queryTimeoutMs)
  }
}
