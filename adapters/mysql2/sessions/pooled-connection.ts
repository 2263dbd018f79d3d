import { advice } from '../advice.ts'
import type { MysqlConnectionLike, MysqlPoolLike } from '../clients.ts'
import type { MysqlQuery, SendBy } from '../tx/mysql-transaction.ts'
import { errnoOf, isRefusal } from '../sql-errors.ts'
import { takeWithin, TakenConnection } from '../../sql/taken-connection.ts'
import { answeredWithin } from '../../sql/answered-within.ts'

/** Rows of the store are objects of plain values, whatever the options of the pool. */
const PLAINLY = { rowsAsArray: false, nestTables: false, typeCast: true }

/** Only a function overrides a `typeCast` function of the pool. */
const UNCAST = { ...PLAINLY, typeCast: (_field: unknown, next: () => unknown): unknown => next() }

function serverOf({ pool }: MysqlPoolLike): string {
  const { host, port } = pool.config.connectionConfig ?? {}
  return host === undefined ? 'the database' : `the database at ${host}:${port ?? 3306}`
}

export type Rows = readonly unknown[]

export class PooledConnection extends TakenConnection {
  readonly #connection: MysqlConnectionLike
  readonly #limitMs: number
  /** How rows of the store are read. */
  readonly #how: object

  /** @throws StoreError `STORE_UNREACHABLE` */
  static async open(pool: MysqlPoolLike, limitMs: number): Promise<PooledConnection> {
    const connection = await takeWithin(limitMs, serverOf(pool), pool.getConnection(), advice)
    const isCast = typeof pool.pool.config.connectionConfig?.typeCast === 'function'
    return new PooledConnection(connection, limitMs, isCast ? UNCAST : PLAINLY)
  }

  private constructor(connection: MysqlConnectionLike, limitMs: number, how: object) {
    super(connection)
    this.#connection = connection
    this.#limitMs = limitMs
    this.#how = how
  }

  /**
   * Runs statements of the store itself, with a time limit. If the server takes a compound statement (MariaDB), they
   * are one message, which needs no `multipleStatements`; otherwise one statement after the other. In both cases the
   * first failure ends the run. Resolves with the rows of each statement that returns any.
   */
  async run(statements: readonly string[], asOne: boolean): Promise<readonly Rows[]> {
    try {
      const sets = await answeredWithin(this.#limitMs, 'statements of the store', this.#send(statements, asOne))
      this.answered()
      return sets
    } catch (error) {
      if (!isRefusal(error)) this.spoil(error)
      throw error
    }
  }

  /** Runs a statement of a handler. */
  async query(by: SendBy, query: string | MysqlQuery, values?: unknown[]): Promise<[unknown, unknown]> {
    try {
      const answer = await this.#connection[by](query, values as never[] | undefined)
      this.answered()
      return answer
    } catch (error) {
      // A TypeError is a value that cannot be sent, which does no harm. After any other error that is not from the
      // server the outcome of the statement is unknown: after a `timeout` of mysql2 it still runs.
      if (errnoOf(error) === undefined ? !(error instanceof TypeError) : !isRefusal(error)) this.spoil(error)
      throw error
    }
  }

  protected giveBack(): void {
    if (this.spoiledBy === undefined && !this.isRetired) this.#connection.release()
    else this.#connection.destroy()
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
      if (this.isOver) return sets
    }
    return sets
  }

  async #ask(sql: string): Promise<unknown> {
    return (await this.#connection.query({ sql, ...this.#how }))[0]
  }
}
