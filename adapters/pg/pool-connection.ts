import { StoreError, describeError } from '../../src/index.ts'
import type { ClientLike, ClientResult, PoolLike } from './clients.ts'
import type { PgQuery, PgResult } from './pg-transaction.ts'
import { isRefusal, sqlState } from './sql-errors.ts'
import type { Statement } from './sql/statement.ts'
import { Turns } from './turns.ts'
import { within } from './within.ts'

/** A client that is out of its pool, until `close`. It is sent one statement at a time: `pg` 9 refuses a second. */
export class PoolConnection {
  readonly #client: ClientLike
  readonly #limitMs: number
  readonly #turns = new Turns()
  #spoiledBy: unknown
  #isClosed = false

  /** @throws StoreError `STORE_UNREACHABLE` */
  static async open(pool: PoolLike, limitMs: number): Promise<PoolConnection> {
    const connecting = pool.connect()
    try {
      return new PoolConnection(await within(limitMs, 'a connection out of the pool', connecting), limitMs)
    } catch (cause) {
      // It may still come, and would be missing in the pool for ever.
      connecting.then(
        (client) => client.release(),
        () => {},
      )
      const text = `no connection to Postgres: ${describeError(cause)}`
      throw new StoreError('STORE_UNREACHABLE', text, { cause })
    }
  }

  private constructor(client: ClientLike, limitMs: number) {
    this.#client = client
    this.#limitMs = limitMs
    // The pool listens only while a client is idle: without a listener a terminated backend ends the process.
    client.on('error', this.#onError)
  }

  /** What it was told when it connected. */
  get backend(): number | undefined {
    return this.#client.processID ?? undefined
  }

  /** Why it must not be used again. */
  get spoiledBy(): unknown {
    return this.#spoiledBy
  }

  spoil(cause: unknown): void {
    this.#spoiledBy ??= cause ?? new Error('spoiled for no reason (pool-connection.spoil)')
  }

  /** Runs what the store itself has to say, with a limit, and returns the results of all its statements. */
  async run({ text, values }: Statement): Promise<readonly ClientResult[]> {
    return this.#turns.take(async () => {
      this.#refuseIfOver()
      try {
        const query = values === undefined ? this.#client.query(text) : this.#client.query(text, [...values])
        return [await within(this.#limitMs, 'a statement of the store', query)].flat()
      } catch (error) {
        if (!isRefusal(error)) this.spoil(error)
        throw error
      }
    })
  }

  /**
   * Runs a statement of a handler, by the extended protocol: it takes one statement only, so that nothing is hidden behind
   * another. (`pg` before 8.12 does not know the option, and sends a text without values by the simple protocol.)
   */
  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    const sent = typeof query === 'string' ? { text: query, values } : { ...query, ...partsOf(query, values) }
    return this.#turns.take(async () => {
      this.#refuseIfOver()
      try {
        return (await this.#client.query({ ...sent, queryMode: 'extended' })) as PgResult<unknown>
      } catch (error) {
        // The server says why it ends a connection before the client notices that it is gone. What is not from the server
        // may be a value that cannot be sent, which harms nothing.
        if (sqlState(error) !== undefined && !isRefusal(error)) this.spoil(error)
        throw error
      }
    })
  }

  /** Back to the pool; out of it and closed if it is spoiled. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const cause = this.#spoiledBy
    if (cause === undefined) this.#client.release()
    else this.#client.release(cause instanceof Error ? cause : new Error(describeError(cause)))
    this.#client.removeListener('error', this.#onError)
  }

  /** While a statement waited for its turn the connection was given up: it must not be sent any more. */
  #refuseIfOver(): void {
    if (!this.#isClosed && this.#spoiledBy === undefined) return
    const text = `the connection was gone before the statement was sent: ${describeError(this.#spoiledBy)}`
    throw new StoreError('STORE_UNREACHABLE', text, { cause: this.#spoiledBy })
  }

  readonly #onError = (error: Error): void => this.spoil(error)
}

/** A query may be an object of a class, whose text is no property of its own. */
function partsOf({ text, values, name, rowMode, types }: PgQuery, given: unknown[] | undefined): PgQuery {
  return { text, values: given ?? values, name, rowMode, types }
}
