import { StoreError, describeError } from '../../src/index.ts'
import type { MysqlConnectionLike, MysqlPoolLike } from './slice.ts'
import type { MysqlQuery, SendBy } from './mysql-transaction.ts'
import { errnoOf, isRefusal } from './sql-errors.ts'
import { within } from './within.ts'

/** Whatever the options of the pool say, rows of the store are objects of plain values. */
const PLAINLY = { rowsAsArray: false, nestTables: false, typeCast: true }

export type Rows = readonly unknown[]

/** A connection that is out of its pool, until `close`. */
export class PooledConnection {
  readonly #connection: MysqlConnectionLike
  readonly #limitMs: number
  #spoiledBy: unknown
  #isClosed = false

  /** @throws StoreError `STORE_UNREACHABLE` */
  static async open(pool: MysqlPoolLike, limitMs: number): Promise<PooledConnection> {
    const connecting = pool.getConnection()
    try {
      return new PooledConnection(await within(limitMs, 'a connection out of the pool', connecting), limitMs)
    } catch (cause) {
      // It may still come, and would be missing in the pool for ever.
      connecting.then(
        (connection) => connection.release(),
        () => {},
      )
      const text = `no connection to the database: ${describeError(cause)}`
      throw new StoreError('STORE_UNREACHABLE', text, { cause })
    }
  }

  private constructor(connection: MysqlConnectionLike, limitMs: number) {
    this.#connection = connection
    this.#limitMs = limitMs
    connection.on('error', this.#onError)
  }

  /** Why it must not be used again. */
  get spoiledBy(): unknown {
    return this.#spoiledBy
  }

  spoil(cause: unknown): void {
    this.#spoiledBy ??= cause ?? new Error('spoiled for no reason (pooled-connection.spoil)')
  }

  /**
   * Runs what the store itself has to say, with a limit. As one message where the server takes a compound statement (MariaDB),
   * which needs no `multipleStatements`; else one statement after the other. Either way the first that fails is the last.
   * Resolves with the rows of each statement that returns any.
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
      // A TypeError is a value that cannot be sent, which harms nothing. Whatever else is no answer of the server leaves open
      // what became of the statement: after a `timeout` of mysql2 it still runs.
      if (errnoOf(error) === undefined ? !(error instanceof TypeError) : !isRefusal(error)) this.spoil(error)
      throw error
    }
  }

  /** Back to the pool; out of it and closed if it is spoiled. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#spoiledBy === undefined) this.#connection.release()
    else this.#connection.destroy()
    this.#connection.removeListener('error', this.#onError)
  }

  async #send(statements: readonly string[], asOne: boolean): Promise<readonly Rows[]> {
    if (asOne && statements.length > 1) {
      // A result for each statement that returns rows, and the end of them all.
      const results = await this.#ask(`begin not atomic\n${statements.join(';\n')};\nend`)
      return Array.isArray(results) ? results.filter(Array.isArray) : []
    }
    const sets: Rows[] = []
    for (const statement of statements) {
      const result = await this.#ask(statement)
      if (Array.isArray(result)) sets.push(result)
      // Nobody waits any more: what comes next must not be sent.
      if (this.#isClosed || this.#spoiledBy !== undefined) return sets
    }
    return sets
  }

  async #ask(sql: string): Promise<unknown> {
    return (await this.#connection.query({ sql, ...PLAINLY }))[0]
  }

  readonly #onError = (error: Error): void => this.spoil(error)
}
