import { type FailedRow, type OutgoingRow, type OutboxTable, type TakenRows } from '../../../src/internal.ts'
import type { PgSession, PgSessions } from '../sessions/session.ts'
import type { Tables } from '../statements/tables.ts'
import { anyDue, dueRows, lockLanes, settleRows, type OutgoingRowRow } from './statements.ts'

/** The table of outgoing messages. */
export class PgOutboxTable implements OutboxTable {
  readonly #sessions: PgSessions
  readonly #tables: Tables
  readonly #prepare: () => Promise<void>
  #isOpen: Promise<void> | undefined
  #wasEmpty = false

  constructor(sessions: PgSessions, tables: Tables, prepare: () => Promise<void>) {
    this.#sessions = sessions
    this.#tables = tables
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
      // Without a transaction, because it is asked again and again.
      const [row] = await this.#sessions.committed(anyDue(this.#tables))
      if (row?.is_any !== true) return undefined
    }
    const { session, rows: lanes } = await this.#sessions.begin(lockLanes(this.#tables))
    try {
      // By a statement of its own: whoever had a lane before has removed its rows by then.
      const found =
        lanes.length === 0
          ? []
          : await session.run(
              dueRows(
                this.#tables,
                lanes.map(({ lane }) => lane),
                most,
              ),
            )
      this.#wasEmpty = found.length === 0
      if (found.length > 0) return new Taken(session, this.#tables, found.map(rowOf))
      await session.rollback()
      return undefined
    } catch (error) {
      await session.rollback()
      throw error
    }
  }
}

class Taken implements TakenRows {
  readonly rows: readonly OutgoingRow[]
  readonly #session: PgSession
  readonly #tables: Tables

  constructor(session: PgSession, tables: Tables, rows: readonly OutgoingRow[]) {
    this.#session = session
    this.#tables = tables
    this.rows = rows
  }

  async settle(published: readonly string[], failed: readonly FailedRow[]): Promise<void> {
    if (published.length + failed.length === 0) return this.abandon()
    await this.#session.commit([settleRows(this.#tables, published, failed)])
  }

  abandon(): Promise<void> {
    return this.#session.rollback()
  }
}

function rowOf({ id, attempts, line, system, message_id, place, key, value, attributes }: OutgoingRowRow): OutgoingRow {
  return {
    id,
    attempts,
    line,
    system: system === 'k' ? 'kafka' : 'rabbitmq',
    messageId: message_id,
    place,
    key: key === null ? null : Buffer.from(key, 'hex'),
    value: value === null ? null : Buffer.from(value, 'hex'),
    attributes,
  }
}
