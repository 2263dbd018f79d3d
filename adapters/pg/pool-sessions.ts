import { StoreError } from '../../src/index.ts'
import type { ClientResult, PoolLike } from './clients.ts'
import { tickerOf, type Attendance, type FlushTicker } from './flush-ticker.ts'
import type { Limits } from './options.ts'
import type { PgQuery, PgResult } from './pg-transaction.ts'
import { PoolConnection } from './pool-connection.ts'
import type { Flushing, Opened, Opening, Pooling, Released, Session, Sessions } from './session.ts'
import { slotsOf, type Slots } from './slots.ts'
import { isFailedTransaction, isProtocolViolation, isRefusal, isWithoutSavepoint } from './sql-errors.ts'
import { READ_BACKEND, type BackendRow } from './sql/read-settings.ts'
import type { Script, Statement } from './sql/statement.ts'
import {
  BEFORE_HANDLERS,
  BEFORE_SCRIPT,
  beforeCommit,
  begin,
  briefly,
  IS_OPEN,
  WITHOUT_FLUSH,
  WITHOUT_HANDLERS,
} from './sql/transaction.ts'

/**
 * Transactions on connections of a pool. No transaction waits for another connection, of the pool or of a pooler behind it. But
 * one connection is left for short statements, which would wait for as long as handlers run, and with a ticker one more flushes.
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
    const session = await this.#session(undefined)
    const results = await session.start(begin(first, this.#limits))
    return { session, rows: rowsOf(results, -2) as Row[] }
  }

  async claim<Row, Counted>(opening: Opening<Row, Counted>): Promise<Opened<Row, Counted>> {
    const { count, uncount } = opening
    const session = await this.#session(this.#flushing === 'late' ? this.#ticker : undefined)
    const text = `${briefly(count, this.#limits)};\n${this.forHandlers(opening.first)}`
    const results = await session.start(text, briefly(uncount, this.#limits))
    return { session, rows: rowsOf(results, -3) as Row[], counted: rowsOf(results, BEFORE_SCRIPT) as Counted[] }
  }

  /** Begins a transaction that handlers will get. */
  forHandlers(first: Script): string {
    return `${begin(first, this.#limits, 'of the session')};\n${BEFORE_HANDLERS}`
  }

  uncounted(uncount: Script): string {
    return briefly(uncount, this.#limits)
  }

  async briefly(script: Script): Promise<void> {
    const connection = await this.#connect()
    try {
      await connection.run({ text: briefly(script, this.#limits) })
    } catch (error) {
      if (isRefusal(error))
        await connection.run({ text: 'rollback' }).catch((cause: unknown) => connection.spoil(cause))
      throw error
    } finally {
      connection.close()
    }
  }

  /** Who flushes is there before the transaction begins: with a connection of its own it waits for nobody. */
  async #session(ticker: FlushTicker | undefined): Promise<PoolSession> {
    await this.#slots.take()
    // Without anybody who can tell whether it is on disk, the COMMIT is flushed by itself.
    const attendance = await ticker?.attend().catch(() => undefined)
    try {
      return new PoolSession(this, await this.#connect(), attendance, () => this.#slots.give())
    } catch (error) {
      attendance?.leave()
      this.#slots.give()
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
  async pooling(): Promise<Pooling | undefined> {
    const connection = await this.#connect()
    try {
      await connection.run({ text: 'begin' })
      const [row] = lastRows(await connection.run(READ_BACKEND)) as BackendRow[]
      await connection.run({ text: 'rollback' })
      if (connection.backend === undefined) return undefined
      return connection.backend === row?.pid ? 'none' : 'pooled'
    } catch (error) {
      connection.spoil(error)
      if (isProtocolViolation(error)) return 'by-statement'
      throw error
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
  readonly #sessions: PoolSessions
  readonly #connection: PoolConnection
  /** Where COMMITs are flushed late. */
  readonly #attendance: Attendance | undefined
  readonly #giveSlot: () => void
  #isOver = false

  constructor(
    sessions: PoolSessions,
    connection: PoolConnection,
    attendance: Attendance | undefined,
    giveSlot: () => void,
  ) {
    this.#sessions = sessions
    this.#connection = connection
    this.#attendance = attendance
    this.#giveSlot = giveSlot
  }

  get spoiledBy(): unknown {
    return this.#connection.spoiledBy
  }

  spoil(cause: unknown): void {
    this.#connection.spoil(cause)
  }

  /** Sends what begins the transaction. Where it is refused nothing stays open, and `undo` runs in its place. */
  async start(text: string, undo?: string): Promise<readonly ClientResult[]> {
    try {
      return await this.#connection.run({ text })
    } catch (error) {
      await this.#abandon(undo)
      throw error
    }
  }

  async reopen<Row, Counted>({
    count,
    uncount,
    first,
  }: Opening<Row, Counted>): Promise<Omit<Opened<Row, Counted>, 'session'>> {
    const text = `${WITHOUT_FLUSH};\n${count.text};\ncommit;\n${this.#sessions.forHandlers(first)}`
    const results = await this.start(text, this.#sessions.uncounted(uncount))
    return { rows: rowsOf(results, -3) as Row[], counted: rowsOf(results, 1) as Counted[] }
  }

  async run<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return lastRows(await this.#connection.run(statement)) as Row[]
  }

  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    return this.#connection.query(query, values)
  }

  async isStillOpen(): Promise<boolean> {
    try {
      const [row] = await this.run(IS_OPEN)
      return row?.is_open === true
    } catch (error) {
      if (isFailedTransaction(error)) return true
      throw error
    }
  }

  async commit(last: Script): Promise<string | null> {
    try {
      const tag = await this.#commit(last, this.#attendance === undefined ? 'at-once' : 'late')
      if (tag === 'COMMIT') await this.#attendance?.flushed()
      return tag
    } finally {
      this.#attendance?.leave()
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

  async rollback(): Promise<void> {
    await this.#abandon()
  }

  async release(last: Script): Promise<Released> {
    let released: Released = 'lost'
    try {
      if (this.spoiledBy === undefined && !this.#isOver) {
        const results = await this.#connection.run({ text: `${WITHOUT_HANDLERS};\n${last.text};\ncommit` })
        if (results.at(-1)?.command === 'COMMIT') released = 'released'
      }
    } catch (error) {
      if (isWithoutSavepoint(error)) released = 'ended'
    }
    if (released === 'released') this.#end()
    await this.#abandon()
    return released
  }

  async replace<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    await this.#rollback()
    try {
      if (this.spoiledBy === undefined && !this.#isOver) return await this.run(statement)
    } finally {
      await this.#abandon()
    }
    return this.#sessions.committed(statement)
  }

  /** Rolls back what is open, and gives everything back. */
  async #abandon(undo?: string): Promise<void> {
    await this.#rollback()
    if (undo !== undefined && this.spoiledBy === undefined && !this.#isOver) {
      await this.#connection.run({ text: undo }).catch((error: unknown) => this.spoil(error))
    }
    this.#end()
    this.#attendance?.leave()
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

function lastRows(results: readonly ClientResult[]): unknown[] {
  return rowsOf(results, -1)
}

function rowsOf(results: readonly ClientResult[], at: number): unknown[] {
  return results.at(at)?.rows ?? []
}
