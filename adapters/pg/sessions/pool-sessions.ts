import { StoreError, TransactionError } from '../../../src/internal.ts'
import type { ClientResult, PoolLike } from '../clients.ts'
import { tickerOf, type Attendance, type FlushTicker } from './flush-ticker.ts'
import type { Limits } from '../options.ts'
import type { SqlErrors } from '../../sql/errors.ts'
import { endedIdle } from '../../sql/idle-end.ts'
import { HandlerStatements } from './handler-statements.ts'
import { LentPgTransaction, type PgQuery, type PgResult, type PgTransaction } from '../tx/pg-transaction.ts'
import { PoolConnection } from './pool-connection.ts'
import { askedUntilFine } from '../../sql/taken-connection.ts'
import type { Lent, Released, ToldOfQueries } from '../../sql/session.ts'
import type { Opened, Opening, PgSession, PgSessions, Pooling } from './session.ts'
import { slotsOf, type Slots } from '../../sql/slots.ts'
import {
  ERRORS,
  isIdleTimeout,
  isProtocolViolation,
  isRefusal,
  isTransactionTimeout,
  isWithoutSavepoint,
} from '../sql-errors.ts'
import { READ_BACKEND, type BackendRow } from '../statements/read-settings.ts'
import type { Script, Statement } from '../statements/statement.ts'
import {
  BEFORE_HANDLERS,
  BEFORE_SCRIPT,
  beforeCommit,
  begin,
  briefly,
  ROLLBACK_OF_HANDLERS,
  STATEMENTS_BEFORE_HANDLERS,
  waiting,
  WITHOUT_FLUSH,
  WITHOUT_HANDLERS,
  type Flushing,
} from '../statements/transaction.ts'

/** Connections of a pool that does not say how many. */
const MOST = 10

/** Where the rows of `begin` are among the results of `forHandlers`. */
const ROWS_BEFORE_HANDLERS: number = -2 - STATEMENTS_BEFORE_HANDLERS

/**
 * Transactions on connections of a pool. No transaction waits for another connection of the pool or of a pooler behind
 * it. One connection is kept free for short statements, which would otherwise wait for handlers, and one more for a
 * flush ticker.
 */
export class PoolSessions implements PgSessions {
  readonly errors: SqlErrors = ERRORS
  readonly #pool: PoolLike
  readonly limits: Limits
  readonly #slots: Slots
  readonly #ticker: FlushTicker
  readonly #flushing: Flushing

  /** `transactions`: the number that may be open at once. */
  constructor(pool: PoolLike, transactions: number, limits: Limits, flushing: Flushing) {
    this.#pool = pool
    this.limits = limits
    this.#slots = slotsOf(pool, transactions)
    this.#ticker = tickerOf(pool, () => this.#connect())
    this.#flushing = flushing
    // A broken idle connection is not ours to report, and must not end the process.
    if (pool.listenerCount('error') === 0) pool.on('error', () => {})
  }

  async begin<Row>(first: Script<Row>): Promise<{ session: PgSession; rows: readonly Row[] }> {
    const session = await this.#session(undefined)
    const results = await session.start(begin(first, this.limits))
    return { session, rows: rowsOf(results, -2) as Row[] }
  }

  async claim<Row, Counted>(opening: Opening<Row, Counted>): Promise<Opened<Row, Counted>> {
    const { count, uncount } = opening
    const session = await this.#session(this.#flushing === 'late' ? this.#ticker : undefined)
    const text = `${briefly(count, this.limits)};\n${this.forHandlers(opening.first)}`
    const results = await session.start(text, briefly(uncount, this.limits))
    return {
      session,
      rows: rowsOf(results, ROWS_BEFORE_HANDLERS) as Row[],
      counted: rowsOf(results, BEFORE_SCRIPT) as Counted[],
    }
  }

  /** Begins a transaction for handlers. */
  forHandlers(first: Script): string {
    return `${begin(first, this.limits, 'of the session')};\n${BEFORE_HANDLERS}`
  }

  uncounted(uncount: Script): string {
    return briefly(uncount, this.limits)
  }

  async briefly(script: Script): Promise<void> {
    const connection = await this.#connect()
    try {
      await connection.run({ text: briefly(script, this.limits) })
    } catch (error) {
      if (isRefusal(error))
        await connection.run({ text: 'rollback' }).catch((cause: unknown) => connection.spoil(cause))
      throw error
    } finally {
      connection.close()
    }
  }

  /**
   * Attends the ticker before the transaction begins. The ticker has its own connection, so this waits for no other
   * transaction.
   */
  async #session(ticker: FlushTicker | undefined): Promise<PoolSession> {
    await this.#slots.take()
    // Without a ticker to prove durability, the COMMIT is flushed by itself.
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

  async undone(statements: readonly Statement[]): Promise<void> {
    const connection = await this.#connect()
    try {
      await connection.run({ text: `begin isolation level read committed read write;\nselect ${waiting(this.limits)}` })
      for (const statement of statements) await connection.run(statement)
    } finally {
      if (!connection.isOver)
        await connection.run({ text: 'rollback' }).catch((cause: unknown) => connection.spoil(cause))
      connection.close()
    }
  }

  settled<Row>(statement: Statement<Row>, isFine: (rows: readonly Row[]) => boolean): Promise<readonly Row[]> {
    const ask = async (connection: PoolConnection): Promise<readonly Row[]> =>
      lastRows(await connection.run(statement)) as Row[]
    return askedUntilFine(this.#pool.options.max ?? MOST, () => this.#connect(), ask, isFine)
  }

  /** On the flushing connection, because another one may not be available. */
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

  /** A pooler sends the client its own number instead of the backend's process ID. */
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
    return PoolConnection.open(this.#pool, this.limits.queryTimeoutMs)
  }
}

class PoolSession implements PgSession {
  readonly #sessions: PoolSessions
  readonly #connection: PoolConnection
  /** Set if COMMITs are flushed late. */
  readonly #attendance: Attendance | undefined
  readonly #giveSlot: () => void
  /** Handlers have sent statements. */
  #isLent = false
  #handlers: HandlerStatements | undefined
  #isChanged = false
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

  /** The server refuses to commit after a failed statement. */
  get failure(): TransactionError | undefined {
    const { spoiledBy } = this.#connection
    if (isTransactionTimeout(spoiledBy)) return endedByTimeout(spoiledBy)
    const { idleInTransactionTimeoutMs: limitMs } = this.#sessions.limits
    return endedIdle(this.#connection, limitMs, isIdleTimeout(spoiledBy), ERRORS)
  }

  spoil(cause: unknown): void {
    this.#connection.spoil(cause)
  }

  lend(told: ToldOfQueries): Lent<PgTransaction> {
    this.#handlers ??= new HandlerStatements(this)
    return new LentPgTransaction(this.#handlers.forHandler(), true, told)
  }

  retire(): void {
    this.#connection.retire()
  }

  get isChanged(): boolean {
    return this.#isChanged
  }

  changed(): void {
    this.#isChanged = true
  }

  /** Sends the beginning of the transaction. If it is refused, nothing stays open, and `undo` runs instead. */
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
    return { rows: rowsOf(results, ROWS_BEFORE_HANDLERS) as Row[], counted: rowsOf(results, 1) as Counted[] }
  }

  async run<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return lastRows(await this.#connection.run(statement)) as Row[]
  }

  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    const idle = this.failure
    if (idle !== undefined) return Promise.reject(idle)
    this.#isLent = true
    return this.#connection.query(query, values)
  }

  async commit(last: readonly Script[]): Promise<'committed' | 'rolled back'> {
    try {
      const tag = await this.#commit(last, this.#attendance === undefined ? 'at-once' : 'late')
      if (tag === 'ROLLBACK') return 'rolled back'
      if (tag !== 'COMMIT') throw new StoreError('STORE_AMBIGUOUS', `the COMMIT was answered ${tag}`)
      await this.#attendance?.flushed()
      return 'committed'
    } finally {
      this.#attendance?.leave()
    }
  }

  async #commit(last: readonly Script[], flushing: Flushing): Promise<string | null> {
    try {
      this.#connection.refuseCommitIfSpoiled()
      const results = await this.#connection.run({
        text: textOf([
          beforeCommit(flushing),
          ...(this.#handlers?.release ?? []),
          ...last.map(({ text }) => text),
          'commit',
        ]),
      })
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

  async release(last: readonly Script[]): Promise<Released> {
    let released: Released = 'lost'
    try {
      if (this.spoiledBy === undefined && !this.#isOver) {
        const results = await this.#connection.run({
          text: textOf([WITHOUT_HANDLERS, ...last.map(({ text }) => text), 'commit']),
        })
        if (results.at(-1)?.command === 'COMMIT') released = 'released'
      }
    } catch (error) {
      if (isWithoutSavepoint(error)) released = 'ended'
    }
    if (released === 'released') this.#end()
    if (released === 'ended') this.retire()
    await this.#abandon()
    return released
  }

  async replace<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    await this.#rollback()
    try {
      const isUsable = this.spoiledBy === undefined && !this.#connection.isRetired && !this.#isOver
      if (isUsable) return await this.run(statement)
    } finally {
      await this.#abandon()
    }
    return this.#sessions.committed(statement)
  }

  /** Rolls back, and returns connection and slot. */
  async #abandon(undo?: string): Promise<void> {
    await this.#rollback()
    if (undo !== undefined && this.spoiledBy === undefined && !this.#isOver) {
      await this.#connection.run({ text: undo }).catch((error: unknown) => this.spoil(error))
    }
    this.#end()
    this.#attendance?.leave()
  }

  /** A rollback without an answer takes effect when the connection is closed. */
  async #rollback(): Promise<void> {
    if (this.spoiledBy !== undefined || this.#isOver) return
    const text = this.#isLent ? ROLLBACK_OF_HANDLERS : 'rollback'
    await this.#connection.run({ text }).catch((error: unknown) => this.spoil(error))
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#connection.close()
    this.#giveSlot()
  }
}

function endedByTimeout(cause: unknown): TransactionError {
  const text =
    'the server ended the transaction, because it took longer than transaction_timeout. Raise that limit above handlerTimeoutMs for the role of the pool, or set it to 0'
  return new TransactionError('TRANSACTION_OVER', text, { cause })
}

function textOf(statements: readonly string[]): string {
  return statements.join(';\n')
}

function lastRows(results: readonly ClientResult[]): unknown[] {
  return rowsOf(results, -1)
}

function rowsOf(results: readonly ClientResult[], at: number): unknown[] {
  return results.at(at)?.rows ?? []
}
