import { EventEmitter } from 'node:events'
import { callbackify } from 'node:util'
import type { PoolClient } from 'pg'
import { OUTLIVES, lentAs, type LentPgTransaction, type PgQuery, type PgTransaction } from './pg-transaction.ts'

/**
 * The methods of a client and a pool that ORMs use: `query`, `connect`, `release` of a connected client, `end` (does
 * nothing), and events.
 */
export type PgClient = { connect(): Promise<PoolClient> } & PoolClient

/**
 * Wraps `ctx.tx` of `postgresInbox` or `postgresOffsets` as a client of `pg`, for an ORM on `pg`. Everything that the
 * ORM writes through it commits together with the mark, or not at all. Create it in the handler, for that one call.
 *
 * A transaction of the ORM becomes a savepoint: if it is rolled back, its writes are undone; if it is committed, they
 * still depend on the success of the handler. Only one may be open at a time, so use the ORM's own nesting. A
 * transaction that is still open when the handler ends counts as a query that was not awaited (`FLOATING_QUERY`), and
 * so does a client from `connect` that was not released. The ORM has a single connection: queries beside its open
 * transaction become part of that transaction.
 *
 * @throws TypeError for any other value: a `ctx.tx` of PGlite returns other results than `pg`
 */
export function pgClient(tx: PgTransaction): PgClient {
  const lent = lentAs(tx)
  if (lent?.isOfPg !== true) throw new TypeError('pgClient: expected ctx.tx of postgresInbox or postgresOffsets')
  lent.giveToOrm()
  return new ClientOfTransaction(lent) as unknown as PgClient
}

// Drizzle recognises a pool by "Pool" in the class name.
class ClientOfTransaction extends EventEmitter {
  readonly #lent: LentPgTransaction
  #isTaken: boolean

  constructor(lent: LentPgTransaction, isTaken: boolean = false) {
    super()
    this.#lent = lent
    this.#isTaken = isTaken
  }

  /** Returns a promise, or calls a callback that is the last argument. */
  query(query: string | PgQuery, ...rest: readonly unknown[]): unknown {
    if (typeof query !== 'string' && 'submit' in query) throw new TypeError(`pgClient: ${OUTLIVES}`)
    const values = Array.isArray(rest[0]) ? rest[0] : undefined
    const callback = rest.at(-1)
    if (typeof callback !== 'function') return this.#run(query, values)
    return callbackify(() => this.#run(query, values))(callback as (error: Error) => void)
  }

  async connect(): Promise<ClientOfTransaction> {
    this.#lent.take()
    return new ClientOfTransaction(this.#lent, true)
  }

  release(): void {
    if (this.#isTaken) this.#lent.giveBack()
    this.#isTaken = false
  }

  async end(): Promise<void> {}

  async #run(query: string | PgQuery, values: unknown[] | undefined): Promise<unknown> {
    const { tx } = this.#lent
    const text = typeof query === 'string' ? query : query.text
    if (BEGIN.test(text)) return this.#begin(text)
    if (!this.#lent.isNested) return tx.query(query, values)
    if (COMMIT.test(text)) return this.#endNested('release')
    if (ROLLBACK.test(text)) return this.#endNested('rollback to', 'release')
    return tx.query(query, values)
  }

  async #begin(text: string): Promise<unknown> {
    if (!PLAIN_BEGIN.test(text)) {
      throw new TypeError(
        `pgClient: the transaction runs already, READ WRITE and at the level that its connection asks for, got ${JSON.stringify(text)}`,
      )
    }
    if (this.#lent.isNested) {
      const problem = 'a transaction of the ORM is open already, and this is one connection'
      throw new TypeError(
        `pgClient: ${problem}: await it first, or nest by the transaction object that the ORM gave you`,
      )
    }
    this.#lent.nest()
    try {
      return await this.#lent.tx.query(`savepoint ${SAVEPOINT}`)
    } catch (error) {
      this.#lent.unnest()
      throw error
    }
  }

  async #endNested(...how: readonly ('release' | 'rollback to')[]): Promise<unknown> {
    let result: unknown
    for (const command of how) result = await this.#lent.tx.query(`${command} savepoint ${SAVEPOINT}`)
    this.#lent.unnest()
    return result
  }
}

const SAVEPOINT = 'consume_once_orm'
const BEGIN = /^\s*(?:begin|start\s+transaction)\b/i
const PLAIN_BEGIN =
  /^\s*(?:begin(?:\s+(?:work|transaction))?|start\s+transaction)(?:\s+isolation\s+level\s+read\s+committed)?(?:[\s,]+read\s+write)?\s*;?\s*$/i
const COMMIT = /^\s*(?:commit|end)(?:\s+(?:work|transaction))?\s*;?\s*$/i
const ROLLBACK = /^\s*(?:rollback|abort)(?:\s+(?:work|transaction))?\s*;?\s*$/i
