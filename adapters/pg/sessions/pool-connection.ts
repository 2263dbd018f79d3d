import { StoreError, describeError } from '../../../src/spi.ts'
import type { ClientLike, ClientResult, PoolLike } from '../clients.ts'
import type { PgQuery, PgResult } from '../tx/pg-transaction.ts'
import { isRefusal, sqlState } from '../sql-errors.ts'
import type { Statement } from '../statements/statement.ts'
import { TYPES } from './parsers.ts'
import { Turns } from '../../sql/turns.ts'
import { within } from '../../sql/within.ts'

/** A client taken from its pool, until `close`. It sends one statement at a time, because `pg` 9 refuses a second. */
export class PoolConnection {
  readonly #client: ClientLike
  readonly #limitMs: number
  readonly #turns = new Turns()
  #spoiledBy: unknown
  #isRetired = false
  #isClosed = false

  /** @throws StoreError `STORE_UNREACHABLE` */
  static async open(pool: PoolLike, limitMs: number): Promise<PoolConnection> {
    const connecting = pool.connect()
    try {
      return new PoolConnection(await within(limitMs, 'a connection out of the pool', connecting), limitMs)
    } catch (cause) {
      // A late client must go back, or the pool would lose it for ever.
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
    // The pool listens only while a client is idle. Without a listener a terminated backend would end the process.
    client.on('error', this.#onError)
  }

  /** Process ID of the backend, from the time when it connected. */
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

  /** It is usable, but goes to nobody else: `close` closes it. */
  retire(): void {
    this.#isRetired = true
  }

  get isRetired(): boolean {
    return this.#isRetired
  }

  /** Runs a statement of the store itself, with a time limit, and returns the results of all its statements. */
  async run({ text, values }: Statement): Promise<readonly ClientResult[]> {
    return this.#turns.take(async () => {
      this.#refuseIfOver()
      try {
        const query = this.#client.query({ text, values: values?.slice(), types: TYPES })
        return [await within(this.#limitMs, 'a statement of the store', query)].flat()
      } catch (error) {
        if (!isRefusal(error)) this.spoil(error)
        throw error
      }
    })
  }

  /**
   * Runs a statement of a handler with the extended protocol, which takes only one statement, so that a second one
   * cannot hide in the text. (`pg` before 8.12 ignores the option, and sends a text without values with the simple
   * protocol.)
   */
  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    const sent = typeof query === 'string' ? { text: query, values } : { ...query, ...partsOf(query, values) }
    return this.#turns.take(async () => {
      this.#refuseIfOver()
      try {
        return (await this.#client.query({ ...sent, queryMode: 'extended' })) as PgResult<unknown>
      } catch (error) {
        // The server says why it ends a connection before the client notices the close. An error that is not from the
        // server may be a value that cannot be sent, which does no harm.
        if (sqlState(error) !== undefined && !isRefusal(error)) this.spoil(error)
        throw error
      }
    })
  }

  /** Returns it to the pool; a spoiled or retired one is removed and closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const cause = this.#spoiledBy
    if (cause === undefined) this.#client.release(this.#isRetired || undefined)
    else this.#client.release(cause instanceof Error ? cause : new Error(describeError(cause)))
    this.#client.removeListener('error', this.#onError)
  }

  /** The connection was given up while a statement waited for its turn: do not send it. */
  #refuseIfOver(): void {
    if (!this.#isClosed && this.#spoiledBy === undefined) return
    const text = `the connection was gone before the statement was sent: ${describeError(this.#spoiledBy)}`
    throw new StoreError('STORE_UNREACHABLE', text, { cause: this.#spoiledBy })
  }

  readonly #onError = (error: Error): void => this.spoil(error)
}

/** A query may be an object of a class, whose `text` is not an own property. */
function partsOf({ text, values, name, rowMode, types }: PgQuery, given: unknown[] | undefined): PgQuery {
  return { text, values: given ?? values, name, rowMode, types }
}
