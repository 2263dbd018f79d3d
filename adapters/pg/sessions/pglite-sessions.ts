import { StoreError } from '../../../src/internal.ts'
import type { PgliteLike, PgliteQueries, PgliteResult } from '../clients.ts'
import type { SqlErrors } from '../../sql/errors.ts'
import { HandlerStatements } from './handler-statements.ts'
import { LentPgTransaction, type PgQuery, type PgResult, type PgTransaction } from '../tx/pg-transaction.ts'
import { openPglite, type OpenPglite } from './pglite-transaction.ts'
import { OpenSession, type OpenConnection } from '../../sql/open-session.ts'
import type { Lent, ToldOfQueries } from '../../sql/session.ts'
import type { PgClaimed, PgSession, PgSessions, Pooling } from './session.ts'
import { PARSERS } from './parsers.ts'
import { slotsOf, type Slots } from '../../sql/slots.ts'
import type { Script, Statement } from '../statements/statement.ts'
import { ERRORS, isWithoutSavepoint } from '../sql-errors.ts'
import { BEFORE_HANDLERS, beforeCommit, OPENED, WITHOUT_HANDLERS } from '../statements/transaction.ts'

/**
 * PGlite has one connection, so one transaction at a time, through its own `transaction`: other queries of the
 * application wait for its end and do not run inside it. Answers cannot be lost, and nothing needs a limit.
 */
export class PgliteSessions implements PgSessions {
  readonly errors: SqlErrors = ERRORS
  readonly #db: PgliteLike
  readonly #slots: Slots

  constructor(db: PgliteLike) {
    this.#db = db
    this.#slots = slotsOf(db, 1)
  }

  async begin<Row>(first: Script<Row>): Promise<{ session: PgSession; rows: readonly Row[] }> {
    const session = await this.#session()
    return { session, rows: (await session.start(first)) as Row[] }
  }

  /** Nobody else gets the connection in between: the slot is taken. */
  async claim({ count, uncount, before, first }: Parameters<PgSessions['claim']>[0]): Promise<PgClaimed> {
    const session = await this.#session()
    await session.count(count)
    try {
      const read = before === undefined ? [] : await this.committed(before)
      const begun = await session.claim(first)
      await session.run({ text: BEFORE_HANDLERS })
      return { session, results: { before: read, first: begun } }
    } catch (error) {
      await session.rollback()
      await this.briefly(uncount)
      throw error
    }
  }

  async briefly({ text }: Script): Promise<void> {
    await this.#db.transaction((transaction) => transaction.exec(text))
  }

  async #session(): Promise<PgliteSession> {
    await this.#slots.take()
    return new PgliteSession(this, this.#db, () => this.#slots.give())
  }

  async committed<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return (await run(this.#db, statement)) as Row[]
  }

  async undone(statements: readonly Statement[]): Promise<void> {
    await this.#db.transaction(async (transaction) => {
      for (const statement of statements) await run(transaction, statement)
      await transaction.rollback()
    })
  }

  settled<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.committed(statement)
  }

  durably<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.committed(statement)
  }

  async pooling(): Promise<Pooling> {
    return 'none'
  }
}

/** There is only one connection, and running queries end before the rollback. */
const THE_CONNECTION: OpenConnection = {
  spoiledBy: undefined,
  isRetired: false,
  spoil: () => {},
  retire: () => {},
  refuseCommitIfSpoiled: () => {},
  close: () => {},
}

class PgliteSession extends OpenSession<PgTransaction, OpenConnection> implements PgSession {
  readonly failure = undefined
  readonly #sessions: PgSessions
  readonly #db: PgliteLike
  #open: OpenPglite | undefined
  #handlers: HandlerStatements | undefined
  #isChanged = false

  constructor(sessions: PgSessions, db: PgliteLike, giveSlot: () => void) {
    super(THE_CONNECTION, giveSlot)
    this.#sessions = sessions
    this.#db = db
  }

  /** Committed by itself. If it fails, nothing stays open. */
  async count({ text }: Script): Promise<void> {
    try {
      await this.#db.transaction((transaction) => transaction.exec(text))
    } catch (error) {
      this.end()
      throw error
    }
  }

  /** If it fails, nothing stays open. */
  start({ text }: Script): Promise<unknown[]> {
    return this.begun(this.#begin(`select ${OPENED};\n${text}`))
  }

  async #begin(text: string): Promise<unknown[]> {
    this.#open = await openPglite(this.#db)
    return run(this.#open.transaction, { text })
  }

  /** As `start`, with the results of all statements. */
  claim({ text }: Script): Promise<readonly PgliteResult<unknown>[]> {
    return this.begun(this.#beginAll(`select ${OPENED};\n${text}`))
  }

  async #beginAll(text: string): Promise<readonly PgliteResult<unknown>[]> {
    this.#open = await openPglite(this.#db)
    return (await this.#open.transaction.exec(text, { parsers: PARSERS })).slice(1)
  }

  /** There are no stored offsets on PGlite. */
  reopen(): Promise<never> {
    return Promise.reject(new StoreError('STORE_MISUSED', 'expected an inbox on PGlite (pglite-sessions.reopen)'))
  }

  lend(told: ToldOfQueries): Lent<PgTransaction> {
    this.#handlers ??= new HandlerStatements(this)
    return new LentPgTransaction(this.#handlers.forHandler(), false, told)
  }

  get isChanged(): boolean {
    return this.#isChanged
  }

  changed(): void {
    this.#isChanged = true
  }

  async run<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return (await run(this.#transaction, statement)) as Row[]
  }

  /** Uses the extended protocol, which takes only one statement. */
  async query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    const [text, given] = typeof query === 'string' ? [query, values] : [query.text, values ?? query.values]
    const { rows, affectedRows }: PgliteResult<unknown> = await this.#transaction.query(text, given ?? [])
    return { rows, rowCount: affectedRows || rows.length }
  }

  protected async sendCommit(last: readonly Script[]): Promise<'committed'> {
    await this.#commit([beforeCommit('at-once'), ...(this.#handlers?.release ?? []), ...last.map(({ text }) => text)])
    return 'committed'
  }

  protected async sendRelease(last: readonly Script[]): Promise<'released'> {
    await this.#commit([WITHOUT_HANDLERS, ...last.map(({ text }) => text)])
    return 'released'
  }

  async #commit(statements: readonly string[]): Promise<void> {
    await run(this.#transaction, { text: statements.join(';\n') })
    const open = this.#open
    this.#open = undefined
    await open?.commit()
  }

  protected isEndedByHandler(error: unknown): boolean {
    return isWithoutSavepoint(error)
  }

  protected async sendRollback(last?: Script): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.rollback()
    if (last !== undefined) await this.#sessions.briefly(last)
  }

  /** On the connection that is the only one. */
  protected runAlone<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.committed(statement)
  }

  protected committed<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return this.#sessions.committed(statement)
  }

  get #transaction(): PgliteQueries {
    if (this.#open !== undefined) return this.#open.transaction
    throw new StoreError('STORE_MISUSED', 'the transaction is over (pglite-sessions.transaction)')
  }
}

async function run(connection: PgliteQueries, { text, values }: Statement): Promise<unknown[]> {
  if (values !== undefined) return (await connection.query(text, [...values], { parsers: PARSERS })).rows
  return (await connection.exec(text, { parsers: PARSERS })).at(-1)?.rows ?? []
}
