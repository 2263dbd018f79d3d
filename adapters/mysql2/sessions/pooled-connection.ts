import { StoreError, describeError } from '../../../src/spi.ts'
import type { MysqlConnectionLike, MysqlPoolLike } from '../clients.ts'
import type { MysqlQuery, SendBy } from '../tx/mysql-transaction.ts'
import { errnoOf, isRefusal } from '../sql-errors.ts'
import { within } from '../../sql/within.ts'

/** Rows of the store are objects of plain values, whatever the options of the pool. */
const PLAINLY = { rowsAsArray: false, nestTables: false, typeCast: true }

/** Only a function overrides a `typeCast` function of the pool. */
const UNCAST = { ...PLAINLY, typeCast: (_field: unknown, next: () => unknown): unknown => next() }

export type Rows = readonly unknown[]

/** A connection taken from its pool, until `close`. */
export class PooledConnection {
  readonly #connection: MysqlConnectionLike
  readonly #limitMs: number
  /** How rows of the store are read. */
  readonly #how: object
  #spoiledBy: unknown
  #isRetired = false
  #isClosed = false

  /** @throws StoreError `STORE_UNREACHABLE` */
  static async open(pool: MysqlPoolLike, limitMs: number): Promise<PooledConnection> {
    const connecting = pool.getConnection()
    try {
      const connection = await within(limitMs, 'a connection out of the pool', connecting)
      const isCast = typeof pool.pool.config.connectionConfig?.typeCast === 'function'
      return new PooledConnection(connection, limitMs, isCast ? UNCAST : PLAINLY)
    } catch (cause) {
      // A late connection must go back, or the pool would lose it for ever.
      connecting.then(
        (connection) => connection.release(),
        () => {},
      )
      const text = `no connection to the database: ${describeError(cause)}`
      throw new StoreError('STORE_UNREACHABLE', text, { cause })
    }
  }

  private constructor(connection: MysqlConnectionLike, limitMs: number, how: object) {
    this.#connection = connection
    this.#limitMs = limitMs
    this.#how = how
    connection.on('error', this.#onError)
  }

  /** Why it must not be used again. */
  get spoiledBy(): unknown {
    return this.#spoiledBy
  }

  spoil(cause: unknown): void {
    this.#spoiledBy ??= cause ?? new Error('spoiled for no reason (pooled-connection.spoil)')
  }

  /** It is usable, but goes to nobody else: `close` closes it. */
  retire(): void {
    this.#isRetired = true
  }

  get isRetired(): boolean {
    return this.#isRetired
  }

  /**
   * Runs statements of the store itself, with a time limit. If the server takes a compound statement (MariaDB), they
   * are one message, which needs no `multipleStatements`; otherwise one statement after the other. In both cases the
   * first failure ends the run. Resolves with the rows of each statement that returns any.
   */
  async run(statements: readonly string[], asOne: boolean): Promise<readonly Rows[]> {
    try {
      return await within(this.#limitMs, 'statements of the store', this.#send(statements, asOne))
    } catch (error) {
      if (!isRefusal(error)) this.spoil(error)
      throw error
    }
  }

  /** Runs a statement of a handler. */
  async query(by: SendBy, query: string | MysqlQuery, values?: unknown[]): Promise<[unknown, unknown]> {
    try {
      return await this.#connection[by](query, values as never[] | undefined)
    } catch (error) {
      // A TypeError is a value that cannot be sent, which does no harm. After any other error that is not from the
      // server the outcome of the statement is unknown: after a `timeout` of mysql2 it still runs.
      if (errnoOf(error) === undefined ? !(error instanceof TypeError) : !isRefusal(error)) this.spoil(error)
      throw error
    }
  }

  /** Returns it to the pool; a spoiled or retired one is removed and closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#spoiledBy === undefined && !this.#isRetired) this.#connection.release()
    else this.#connection.destroy()
    this.#connection.removeListener('error', this.#onError)
  }

  async #send(statements: readonly string[], asOne: boolean): Promise<readonly Rows[]> {
    if (asOne && statements.length > 1) {
      // A result for each statement that returns rows, plus one for the end of the compound.
      const results = await this.#ask(`begin not atomic\n${statements.join(';\n')};\nend`)
      return Array.isArray(results) ? results.filter(Array.isArray) : []
    }
    const sets: Rows[] = []
    for (const statement of statements) {
      const result = await this.#ask(statement)
      if (Array.isArray(result)) sets.push(result)
      // Nobody waits any more: do not send the next statement.
      if (this.#isClosed || this.#spoiledBy !== undefined) return sets
    }
    return sets
  }

  async #ask(sql: string): Promise<unknown> {
    return (await this.#connection.query({ sql, ...this.#how }))[0]
  }

  readonly #onError = (error: Error): void => this.spoil(error)
}
