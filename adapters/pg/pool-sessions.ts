import { StoreError } from '../../src/index.ts'
import type { PoolLike } from './clients.ts'
import type { Limits } from './options.ts'
import type { PgQuery, PgResult } from './pg-transaction.ts'
import { PoolConnection } from './pool-connection.ts'
import type { Session, Sessions } from './session.ts'
import { slotsOf, type Slots } from './slots.ts'
import { isRefusal } from './sql-errors.ts'
import type { Script, Statement } from './sql/statement.ts'
import { BEFORE_COMMIT, begin } from './sql/transaction.ts'

/**
 * Transactions on connections of a pool, on all but one of them: the last counts attempts. If transactions could take
 * them all, each would wait for a connection that only another can give.
 */
export class PoolSessions implements Sessions {
  readonly #pool: PoolLike
  readonly #limits: Limits
  readonly #slots: Slots

  constructor(pool: PoolLike, max: number, limits: Limits) {
    this.#pool = pool
    this.#limits = limits
    this.#slots = slotsOf(pool, Math.max(1, max - 1))
    // An idle connection that breaks is none of ours to tell, and nothing to end the process for.
    if (pool.listenerCount('error') === 0) pool.on('error', () => {})
  }

  async begin<Row>(first: Script<Row>): Promise<{ session: Session; rows: readonly Row[] }> {
    await this.#slots.take()
    let connection: PoolConnection
    try {
      connection = await this.#connect()
    } catch (error) {
      this.#slots.give()
      throw error
    }
    const session = new PoolSession(this, connection, () => this.#slots.give())
    try {
      const results = await connection.run({ text: begin(first, this.#limits) })
      return { session, rows: (results.at(-2)?.rows ?? []) as Row[] }
    } catch (error) {
      await session.rollback()
      throw error
    }
  }

  async committed<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    const connection = await this.#connect()
    try {
      return lastRows(await connection.run(statement)) as Row[]
    } finally {
      connection.close()
    }
  }

  #connect(): Promise<PoolConnection> {
    return PoolConnection.open(this.#pool, this.#limits.queryTimeoutMs)
  }
}

class PoolSession implements Session {
  readonly #sessions: Sessions
  readonly #connection: PoolConnection
  readonly #giveSlot: () => void
  #isOver = false

  constructor(sessions: Sessions, connection: PoolConnection, giveSlot: () => void) {
    this.#sessions = sessions
    this.#connection = connection
    this.#giveSlot = giveSlot
  }

  get spoiledBy(): unknown {
    return this.#connection.spoiledBy
  }

  spoil(cause: unknown): void {
    this.#connection.spoil(cause)
  }

  async run<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return lastRows(await this.#connection.run(statement)) as Row[]
  }

  beside<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.#sessions.committed(statement)
  }

  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    return this.#connection.query(query, values)
  }

  async commit(last: Script): Promise<string | null> {
    try {
      if (this.spoiledBy !== undefined) {
        const text = 'the connection was lost before the COMMIT was sent: nothing was committed'
        throw new StoreError('STORE_UNREACHABLE', text, { cause: this.spoiledBy })
      }
      const results = await this.#connection.run({ text: `${BEFORE_COMMIT};\n${last.text};\ncommit` })
      this.#end()
      return results.at(-1)?.command ?? null
    } catch (error) {
      if (isRefusal(error)) await this.rollback()
      else this.#end()
      throw error
    }
  }

  async rollback(refund?: Statement): Promise<void> {
    try {
      if (refund !== undefined) await this.#sessions.committed(refund)
    } finally {
      await this.#rollback()
      this.#end()
    }
  }

  async replace<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    await this.#rollback()
    try {
      if (this.spoiledBy === undefined) return await this.run(statement)
    } finally {
      this.#end()
    }
    return this.#sessions.committed(statement)
  }

  /** A rollback that is not answered is one all the same, once the connection is closed. */
  async #rollback(): Promise<void> {
    if (this.spoiledBy !== undefined || this.#isOver) return
    await this.#connection.run({ text: 'rollback' }).catch((error: unknown) => this.spoil(error))
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection.close()
    this.#giveSlot()
  }
}

function lastRows(results: readonly { readonly rows: unknown[] }[]): unknown[] {
  return results.at(-1)?.rows ?? []
}
