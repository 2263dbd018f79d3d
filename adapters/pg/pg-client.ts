import { EventEmitter } from 'node:events'
import { callbackify } from 'node:util'
import type { PoolClient } from 'pg'
import { OUTLIVES, lentAs, type LentPgTransaction, type PgQuery, type PgTransaction } from './pg-transaction.ts'

/**
 * Has what ORMs use of a client, and of a pool: `query`, `connect` and the `release` of what that gave, `end` (does nothing),
 * events.
 */
export type PgClient = { connect(): Promise<PoolClient> } & PoolClient

/**
 * `ctx.tx` of `postgresInbox` or `postgresOffsets` in the shape of a client of `pg`, for an ORM on `pg`: what the ORM writes
 * through it commits with the mark, or not at all. Make it in the handler, for that one call.
 *
 * A transaction of the ORM becomes a savepoint of ours: rolled back, its writes are undone; committed, they still wait for the
 * handler to end well. One at a time, so nest by the ORM's own means; still open when the handler ends it counts as a query
 * that was not awaited (`FLOATING_QUERY`). So does what `connect` gave and nobody has released. All of the ORM runs on one connection: what it writes beside an open transaction of
 * its own is part of that.
 *
 * @throws TypeError for anything but such a `ctx.tx`: one of PGlite answers otherwise than `pg`
 */
export function pgClient(tx: PgTransaction): PgClient {
  const lent = lentAs(tx)
  if (lent?.isOfPg !== true) throw new TypeError('pgClient: expected ctx.tx of postgresInbox or postgresOffsets')
  lent.giveToOrm()
  return new ClientOfTransaction(lent) as unknown as PgClient
}

// Drizzle takes a client whose class has "Pool" in its name for a pool.
class ClientOfTransaction extends EventEmitter {
  readonly #lent: LentPgTransaction
  #isTaken: boolean

  constructor(lent: LentPgTransaction, isTaken: boolean = false) {
    super()
    this.#lent = lent
    this.#isTaken = isTaken
  }

  /** Gives a promise; with a function as its last argument it calls that. */
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
