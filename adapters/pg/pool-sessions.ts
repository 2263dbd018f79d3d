import { StoreError } from '../../src/index.ts'
import type { PoolLike } from './clients.ts'
import { tickerOf, type Attendance, type FlushTicker } from './flush-ticker.ts'
import type { Limits } from './options.ts'
import type { PgQuery, PgResult } from './pg-transaction.ts'
import { PoolConnection } from './pool-connection.ts'
import type { Flushing, Session, Sessions } from './session.ts'
import { slotsOf, type Slots } from './slots.ts'
import { isRefusal } from './sql-errors.ts'
import { READ_BACKEND, type BackendRow } from './sql/read-settings.ts'
import type { Script, Statement } from './sql/statement.ts'
import { beforeCommit, begin } from './sql/transaction.ts'

/**
 * Transactions on connections of a pool, not on all of them: the last counts attempts, and with a ticker one more flushes. If
 * transactions could take them all, each would wait for a connection that only another can give.
 */
export class PoolSessions implements Sessions {
  readonly #pool: PoolLike
  readonly #limits: Limits
  readonly #slots: Slots
  readonly #ticker: FlushTicker
  readonly #flushing: Flushing

  /** `transactions`: how many may be open at once. */
  constructor(pool: PoolLike, transactions: number, limits: Limits, flushing: Flushing) {
    this.#pool = pool
    this.#limits = limits
    this.#slots = slotsOf(pool, transactions)
    this.#ticker = tickerOf(pool, () => this.#connect())
    this.#flushing = flushing
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
    const attending = this.#flushing === 'late' ? this.#ticker.attend() : undefined
    const session = new PoolSession(this, connection, attending, () => this.#slots.give())
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

  /** On the connection that flushes: one more might be had by nobody. */
  async durably<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    const attendance = await this.#ticker.attend()
    try {
      const rows = await attendance.read(statement)
      await attendance.flushed()
      return rows
    } finally {
      attendance.leave()
    }
  }

  /** A pooler has told the client a number of its own, not that of a backend. */
  async isPooled(): Promise<boolean | undefined> {
    const connection = await this.#connect()
    try {
      const [row] = lastRows(await connection.run(READ_BACKEND)) as BackendRow[]
      return connection.backend === undefined ? undefined : connection.backend !== row?.pid
    } finally {
      connection.close()
    }
  }

  #connect(): Promise<PoolConnection> {
    return PoolConnection.open(this.#pool, this.#limits.queryTimeoutMs)
  }
}

class PoolSession implements Session {
  readonly isOfPg = true
  readonly #sessions: Sessions
  readonly #connection: PoolConnection
  /** Where COMMITs are flushed late. */
  readonly #attending: Promise<Attendance> | undefined
  readonly #giveSlot: () => void
  #isOver = false

  constructor(
    sessions: Sessions,
    connection: PoolConnection,
    attending: Promise<Attendance> | undefined,
    giveSlot: () => void,
  ) {
    this.#sessions = sessions
    this.#connection = connection
    this.#attending = attending
    this.#giveSlot = giveSlot
    // It is told where it is needed: at the COMMIT.
    attending?.catch(() => {})
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
      // Without anybody who can tell whether it is on disk, it is flushed by itself.
      const attendance = await this.#attending?.catch(() => undefined)
      const tag = await this.#commit(last, attendance === undefined ? 'at-once' : 'late')
      if (tag === 'COMMIT') await attendance?.flushed()
      return tag
    } finally {
      this.#leave()
    }
  }

  async #commit(last: Script, flushing: Flushing): Promise<string | null> {
    try {
      if (this.spoiledBy !== undefined) {
        const text = 'the connection was lost before the COMMIT was sent: nothing was committed'
        throw new StoreError('STORE_UNREACHABLE', text, { cause: this.spoiledBy })
      }
      const results = await this.#connection.run({ text: `${beforeCommit(flushing)};\n${last.text};\ncommit` })
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
      this.#leave()
    }
  }

  async replace<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    await this.#rollback()
    try {
      if (this.spoiledBy === undefined) return await this.run(statement)
    } finally {
      this.#end()
      this.#leave()
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

  #leave(): void {
    this.#attending?.then(
      (attendance) => attendance.leave(),
      () => {},
    )
  }
}

function lastRows(results: readonly { readonly rows: unknown[] }[]): unknown[] {
  return results.at(-1)?.rows ?? []
}
