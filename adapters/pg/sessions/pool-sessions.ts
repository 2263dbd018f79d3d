import { StoreError, TransactionError } from '../../../src/internal.ts'
import type { ClientResult, PoolLike } from '../clients.ts'
import { tickerOf, type Attendance, type FlushTicker } from './flush-ticker.ts'
import type { SqlErrors } from '../../sql/errors.ts'
import { endedIdle } from '../../sql/idle-end.ts'
import { HandlerStatements } from './handler-statements.ts'
import { LentPgTransaction, type PgQuery, type PgResult, type PgTransaction } from '../tx/pg-transaction.ts'
import { PoolConnection } from './pool-connection.ts'
import { askedUntilFine } from '../../sql/taken-connection.ts'
import { OpenSession } from '../../sql/open-session.ts'
import type { Lent, Opened, ToldOfQueries } from '../../sql/session.ts'
import type { PgClaimed, PgOpening, PgSession, PgSessions, Pooling } from './session.ts'
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
  type PgLimits,
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
  readonly limits: PgLimits
  readonly #slots: Slots
  readonly #ticker: FlushTicker
  readonly #flushing: Flushing

  /** `transactions`: the number that may be open at once. */
  constructor(pool: PoolLike, transactions: number, limits: PgLimits, flushing: Flushing) {
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

  async claim({ count, uncount, before, first }: Parameters<PgSessions['claim']>[0]): Promise<PgClaimed> {
    const session = await this.#session(this.#flushing === 'late' ? this.#ticker : undefined)
    const beforehand = [count, ...(before === undefined ? [] : [before])].map((script) => briefly(script, this.limits))
    const text = [...beforehand, this.forHandlers(first)].join(';\n')
    const results = await session.start(text, briefly(uncount, this.limits))
    const ended = results.findLastIndex(({ command }) => command === 'COMMIT')
    const read = before === undefined ? [] : (results[ended - 1]?.rows ?? [])
    return { session, results: { before: read, first: results.slice(ended + 1 + BEFORE_SCRIPT) } }
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

class PoolSession extends OpenSession<PgTransaction, PoolConnection> implements PgSession {
  readonly #sessions: PoolSessions
  /** Set if COMMITs are flushed late, until one is sent. */
  #attendance: Attendance | undefined
  readonly #flushing: Flushing
  /** Handlers have sent statements. */
  #isLent = false
  #handlers: HandlerStatements | undefined
  #isChanged = false

  constructor(
    sessions: PoolSessions,
    connection: PoolConnection,
    attendance: Attendance | undefined,
    giveSlot: () => void,
  ) {
    super(connection, giveSlot)
    this.#sessions = sessions
    this.#attendance = attendance
    this.#flushing = attendance === undefined ? 'at-once' : 'late'
  }

  /** The server refuses to commit after a failed statement. */
  get failure(): TransactionError | undefined {
    const { spoiledBy } = this.connection
    if (isTransactionTimeout(spoiledBy)) return endedByTimeout(spoiledBy)
    const { idleInTransactionTimeoutMs: limitMs } = this.#sessions.limits
    return endedIdle(this.connection, limitMs, isIdleTimeout(spoiledBy), ERRORS)
  }

  lend(told: ToldOfQueries): Lent<PgTransaction> {
    this.#handlers ??= new HandlerStatements(this)
    return new LentPgTransaction(this.#handlers.forHandler(), true, told)
  }

  get isChanged(): boolean {
    return this.#isChanged
  }

  changed(): void {
    this.#isChanged = true
  }

  /** Sends the beginning of the transaction. If it is refused, nothing stays open, and `undo` runs instead. */
  start(text: string, undo?: string): Promise<readonly ClientResult[]> {
    return this.begun(
      this.connection.run({ text }),
      undo === undefined ? undefined : () => this.connection.run({ text: undo }),
    )
  }

  async reopen<Row, Counted>({
    count,
    uncount,
    first,
  }: PgOpening<Row, Counted>): Promise<Omit<Opened<PgSession, Row, Counted>, 'session'>> {
    const text = `${WITHOUT_FLUSH};\n${count.text};\ncommit;\n${this.#sessions.forHandlers(first)}`
    const results = await this.start(text, this.#sessions.uncounted(uncount))
    return { rows: rowsOf(results, ROWS_BEFORE_HANDLERS) as Row[], counted: rowsOf(results, 1) as Counted[] }
  }

  async run<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return lastRows(await this.connection.run(statement)) as Row[]
  }

  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    const idle = this.failure
    if (idle !== undefined) return Promise.reject(idle)
    this.#isLent = true
    return this.connection.query(query, values)
  }

  /** The connection is given back before the flush, which needs none. */
  override async commit(last: readonly Script[]): Promise<'committed' | 'rolled back'> {
    const attendance = this.#attendance
    this.#attendance = undefined
    try {
      const end = await super.commit(last)
      if (end === 'committed') await attendance?.flushed()
      return end
    } finally {
      attendance?.leave()
    }
  }

  protected async sendCommit(last: readonly Script[]): Promise<'committed' | 'rolled back'> {
    const before = [beforeCommit(this.#flushing), ...(this.#handlers?.release ?? [])]
    const tag = await this.#sendAll([...before, ...last.map(({ text }) => text), 'commit'])
    if (tag === 'ROLLBACK') return 'rolled back'
    if (tag !== 'COMMIT') throw new StoreError('STORE_AMBIGUOUS', `the COMMIT was answered ${tag}`)
    return 'committed'
  }

  protected async sendRelease(last: readonly Script[]): Promise<'released' | 'lost'> {
    const tag = await this.#sendAll([WITHOUT_HANDLERS, ...last.map(({ text }) => text), 'commit'])
    return tag === 'COMMIT' ? 'released' : 'lost'
  }

  /** The command that the last one was. */
  async #sendAll(statements: readonly string[]): Promise<string | null> {
    const results = await this.connection.run({ text: statements.join(';\n') })
    return results.at(-1)?.command ?? null
  }

  protected isEndedByHandler(error: unknown): boolean {
    return isWithoutSavepoint(error)
  }

  protected sendRollback(last?: Script): Promise<unknown> {
    const text = this.#isLent ? ROLLBACK_OF_HANDLERS : 'rollback'
    return this.connection.run({ text: last === undefined ? text : `${text};\n${this.#sessions.uncounted(last)}` })
  }

  protected runAlone<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.run(statement)
  }

  protected committed<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.#sessions.committed(statement)
  }

  protected override end(): void {
    super.end()
    this.#attendance?.leave()
  }
}

function endedByTimeout(cause: unknown): TransactionError {
  const text =
    'the server ended the transaction, because it took longer than transaction_timeout. Raise that limit above handlerTimeoutMs for the role of the pool, or set it to 0'
  return new TransactionError('TRANSACTION_OVER', text, { cause })
}

function lastRows(results: readonly ClientResult[]): unknown[] {
  return rowsOf(results, -1)
}

function rowsOf(results: readonly ClientResult[], at: number): unknown[] {
  return results.at(at)?.rows ?? []
}
