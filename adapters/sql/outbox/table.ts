import type { FailedRow, OutboxTable, OutgoingRow, TakenRows } from '../../../src/internal.ts'
import type { Session, Sessions } from '../session.ts'
import { rowOf, type OutboxStatements } from './statements.ts'

/** The table of outgoing messages. */
export class SqlOutboxTable implements OutboxTable {
  readonly #sessions: Sessions
  readonly #statements: OutboxStatements
  readonly #prepare: () => Promise<void>
  #isOpen: Promise<void> | undefined
  #wasEmpty = false

  constructor(sessions: Sessions, statements: OutboxStatements, prepare: () => Promise<void>) {
    this.#sessions = sessions
    this.#statements = statements
    this.#prepare = prepare
  }

  /** Tried again by the next call after a failure. */
  open(): Promise<void> {
    this.#isOpen ??= this.#prepare().catch((error: unknown) => {
      this.#isOpen = undefined
      throw error
    })
    return this.#isOpen
  }

  async take(most: number): Promise<TakenRows | undefined> {
    await this.open()
    if (this.#wasEmpty) {
      // Without a lock, because it is asked again and again.
      const [row] = await this.#sessions.committed(this.#statements.anyDue())
      if (!row?.is_any) return undefined
    }
    const begun = await this.#begin()
    if (begun === undefined) return undefined
    const { session, rows } = begun
    try {
      const lanes = rows.map(({ lane }) => lane)
      // By a statement of its own: whoever had a lane before has removed its rows by then.
      const found = lanes.length === 0 ? [] : await session.run(this.#statements.due(lanes, most))
      this.#wasEmpty = found.length === 0
      if (found.length > 0) return new Taken(session, this.#statements, found.map(rowOf))
      await session.rollback()
      return undefined
    } catch (error) {
      await session.rollback()
      throw error
    }
  }

  async #begin(): Promise<
    { readonly session: Session; readonly rows: readonly { readonly lane: number }[] } | undefined
  > {
    try {
      return await this.#sessions.begin(this.#statements.lockLanes())
    } catch (error) {
      if (this.#statements.isBusy(error)) return undefined
      throw error
    }
  }
}

class Taken implements TakenRows {
  readonly rows: readonly OutgoingRow[]
  readonly #session: Session
  readonly #statements: OutboxStatements

  constructor(session: Session, statements: OutboxStatements, rows: readonly OutgoingRow[]) {
    this.#session = session
    this.#statements = statements
    this.rows = rows
  }

  async settle(published: readonly string[], failed: readonly FailedRow[]): Promise<void> {
    if (published.length + failed.length === 0) return this.abandon()
    await this.#session.commit([this.#statements.settle(published, failed)])
  }

  abandon(): Promise<void> {
    return this.#session.rollback()
  }
}
