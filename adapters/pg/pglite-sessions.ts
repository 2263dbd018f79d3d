import { StoreError } from '../../src/index.ts'
import type { PgliteLike, PgliteQueries } from './clients.ts'
import type { PgQuery, PgResult } from './pg-transaction.ts'
import { openPglite, type OpenPglite } from './pglite-transaction.ts'
import type { Session, Sessions } from './session.ts'
import { slotsOf, type Slots } from './slots.ts'
import type { Script, Statement } from './sql/statement.ts'
import { beforeCommit, OPENED } from './sql/transaction.ts'

/**
 * One connection, so one transaction at a time, by PGlite's own `transaction`: whatever else the application asks of the
 * database waits for its end instead of running inside it. Answers cannot be lost here, and nothing needs a limit.
 */
export class PgliteSessions implements Sessions {
  readonly #db: PgliteLike
  readonly #slots: Slots

  constructor(db: PgliteLike) {
    this.#db = db
    this.#slots = slotsOf(db, 1)
  }

  async begin<Row>(first: Script<Row>): Promise<{ session: Session; rows: readonly Row[] }> {
    await this.#slots.take()
    const session = new PgliteSession(this, this.#db, first, () => this.#slots.give())
    try {
      return { session, rows: (await session.start()) as Row[] }
    } catch (error) {
      await session.rollback()
      throw error
    }
  }

  async committed<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return (await run(this.#db, statement)) as Row[]
  }

  durably<Row>(statement: Statement<Row>, session: Pick<Session, 'run'>): Promise<readonly Row[]> {
    return session.run(statement)
  }

  async isPooled(): Promise<boolean> {
    return false
  }
}

class PgliteSession implements Session {
  readonly isOfPg = false
  readonly spoiledBy = undefined
  readonly #sessions: Sessions
  readonly #db: PgliteLike
  readonly #first: Script
  readonly #giveSlot: () => void
  #open: OpenPglite | undefined
  #found: number | undefined
  #isOver = false

  constructor(sessions: Sessions, db: PgliteLike, first: Script, giveSlot: () => void) {
    this.#sessions = sessions
    this.#db = db
    this.#first = first
    this.#giveSlot = giveSlot
  }

  async start(): Promise<unknown[]> {
    this.#open = await openPglite(this.#db)
    const rows = await run(this.#open.transaction, { text: `select ${OPENED};\n${this.#first.text}` })
    this.#found ??= rows.length
    if (rows.length === this.#found) return rows
    const text = `expected nobody else in the tables of the inbox, got ${rows.length} rows instead of ${this.#found}`
    throw new StoreError('STORE_UNREACHABLE', text)
  }

  /** The connection is the only one there is, and what still runs on it ends before the rollback. */
  spoil(): void {}

  async run<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return (await run(this.#transaction, statement)) as Row[]
  }

  /**
   * Nothing can be committed beside a transaction on the same connection, so it is rolled back and begun again. No other
   * inbox comes in between, and the tables are private: `first` finds what it found.
   */
  async beside<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    await this.#stop()
    const rows = await this.#sessions.committed(statement)
    await this.start()
    return rows
  }

  async query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>> {
    const config = typeof query === 'string' ? { text: query, values } : { values, ...query }
    const result =
      config.values === undefined || config.values.length === 0
        ? (await this.#transaction.exec(config.text)).at(-1)
        : await this.#transaction.query(config.text, config.values)
    const rows = result?.rows ?? []
    return { rows, rowCount: result?.affectedRows || rows.length }
  }

  async commit(last: Script): Promise<string | null> {
    try {
      await run(this.#transaction, { text: `${beforeCommit('at-once')};\n${last.text}` })
      await this.#open?.commit()
      return 'COMMIT'
    } finally {
      await this.rollback()
    }
  }

  async rollback(refund?: Statement): Promise<void> {
    try {
      await this.#stop()
      if (refund !== undefined) await this.#sessions.committed(refund)
    } finally {
      this.#end()
    }
  }

  async replace<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    try {
      await this.#stop()
      return await this.#sessions.committed(statement)
    } finally {
      this.#end()
    }
  }

  get #transaction(): PgliteQueries {
    if (this.#open !== undefined) return this.#open.transaction
    throw new StoreError('STORE_MISUSED', 'the transaction is over (pglite-sessions.transaction)')
  }

  async #stop(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.rollback()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#giveSlot()
  }
}

async function run(connection: PgliteQueries, { text, values }: Statement): Promise<unknown[]> {
  if (values !== undefined) return (await connection.query(text, [...values])).rows
  return (await connection.exec(text)).at(-1)?.rows ?? []
}
