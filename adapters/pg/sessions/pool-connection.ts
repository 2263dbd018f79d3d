import { advice } from '../advice.ts'
import { StoreError, describeError } from '../../../src/internal.ts'
import type { ClientLike, ClientResult, PoolLike } from '../clients.ts'
import type { PgQuery, PgResult } from '../tx/pg-transaction.ts'
import { isRefusal, sqlState } from '../sql-errors.ts'
import type { Statement } from '../statements/statement.ts'
import { TYPES } from './parsers.ts'
import { takeWithin, TakenConnection } from '../../sql/taken-connection.ts'
import { Turns } from '../../sql/turns.ts'
import { answeredWithin } from '../../sql/answered-within.ts'

/** `Postgres at host:port`, if the options of the pool name it. */
function serverOf({ options: { host, port, connectionString = '' } }: PoolLike): string {
  if (host !== undefined) return `Postgres at ${host}:${port ?? 5432}`
  const url = URL.canParse(connectionString) ? new URL(connectionString) : undefined
  return url === undefined || url.hostname === '' ? 'Postgres' : `Postgres at ${url.hostname}:${url.port || 5432}`
}

/** A client taken from its pool, until `close`. It sends one statement at a time, because `pg` 9 refuses a second. */
export class PoolConnection extends TakenConnection {
  readonly #client: ClientLike
  readonly #limitMs: number
  readonly #turns = new Turns()

  /** @throws StoreError `STORE_UNREACHABLE` */
  static async open(pool: PoolLike, limitMs: number): Promise<PoolConnection> {
    return new PoolConnection(await takeWithin(limitMs, serverOf(pool), pool.connect(), advice), limitMs)
  }

  private constructor(client: ClientLike, limitMs: number) {
    super(client)
    this.#client = client
    this.#limitMs = limitMs
  }

  /** Process ID of the backend, from the time when it connected. */
  get backend(): number | undefined {
    return this.#client.processID ?? undefined
  }

  /** Runs a statement of the store itself, with a time limit, and returns the results of all its statements. */
  async run({ text, values }: Statement): Promise<readonly ClientResult[]> {
    return this.#turns.take(async () => {
      this.#refuseIfOver()
      try {
        const query = this.#client.query({ text, values: values?.slice(), types: TYPES })
        const results = [await answeredWithin(this.#limitMs, 'a statement of the store', query)].flat()
        this.answered()
        return results
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
    return this.#turns.take(async () => {
      this.#refuseIfOver()
      try {
        const result = (await this.#send(query, values)) as PgResult<unknown>
        this.answered()
        return result
      } catch (error) {
        // The server says why it ends a connection before the client notices the close. An error that is not from the
        // server may be a value that cannot be sent, which does no harm.
        if (sqlState(error) !== undefined && !isRefusal(error)) this.spoil(error)
        throw error
      }
    })
  }

  #send(query: string | PgQuery, values: unknown[] | undefined): Promise<unknown> {
    // `pg` uses the extended protocol for values. A config would be copied, which costs more than all else here.
    if (typeof query === 'string' && values !== undefined && values.length > 0) return this.#client.query(query, values)
    const sent = typeof query === 'string' ? { text: query, values } : { ...query, ...partsOf(query, values) }
    return this.#client.query({ ...sent, queryMode: 'extended' })
  }

  protected giveBack(): void {
    const cause = this.spoiledBy
    if (cause === undefined) this.#client.release(this.isRetired || undefined)
    else this.#client.release(cause instanceof Error ? cause : new Error(describeError(cause)))
  }

  #refuseIfOver(): void {
    if (!this.isOver) return
    const text = `the connection was gone before the statement was sent: ${describeError(this.spoiledBy)}`
    throw new StoreError('STORE_UNREACHABLE', text, { cause: this.spoiledBy })
  }
}

/** A query may be an object of a class, whose `text` is not an own property. */
function partsOf({ text, values, name, rowMode, types }: PgQuery, given: unknown[] | undefined): PgQuery {
  return { text, values: given ?? values, name, rowMode, types }
}
