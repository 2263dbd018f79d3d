import type { OutboxTable, OutgoingRow, OutgoingSystem, TakenRows, UnpublishedRow } from '../../../src/internal.ts'
import type { Script, Session, Sessions } from '../session.ts'
import { compareIds, withoutThoseBehind } from './behind.ts'
import { ALL_LANES, lanesOf, rowOf, type OutboxStatements, type StoredRow } from './statements.ts'

/** Lanes that one transaction locks while there is much to publish. */
const LANES_OF_MANY = 8

/** The table of outgoing messages. */
export class SqlOutboxTable implements OutboxTable {
  readonly #sessions: Sessions
  readonly #statements: OutboxStatements
  readonly #prepare: () => Promise<void>
  #isOpen: Promise<void> | undefined
  #mostLanes = ALL_LANES

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

  async isAnyDue(systems: readonly OutgoingSystem[]): Promise<boolean> {
    await this.open()
    const [row] = await this.#sessions.committed(this.#statements.anyDue(lanesOf(systems)))
    return Boolean(row?.is_any)
  }

  async take(most: number, systems: readonly OutgoingSystem[]): Promise<TakenRows | undefined> {
    await this.open()
    const what = { lanes: lanesOf(systems), most, mostLanes: this.#mostLanes }
    const begun = await this.#begin(this.#statements.take(what))
    if (begun === undefined) return undefined
    const { session, rows } = begun
    // While there is enough for several relays, none takes all lanes. Else a row would wait for the next turn.
    this.#mostLanes = rows.length < most / 2 ? ALL_LANES : LANES_OF_MANY
    try {
      if (rows.length > 0) return await this.#taken(session, rows)
      await session.rollback()
      return undefined
    } catch (error) {
      await session.rollback()
      throw error
    }
  }

  async settle(published: readonly OutgoingRow[], unpublished: readonly UnpublishedRow[]): Promise<void> {
    await this.#sessions.committed(this.#statements.settle(published, unpublished))
    const lines = linesBehind(published, unpublished)
    if (lines.length === 0) return
    const next = await this.#sessions.committed(this.#statements.following(lines))
    if (next.length > 0) await this.#sessions.committed(this.#statements.letGo(next.map(({ id }) => id)))
  }

  async #taken(session: Session, unsorted: readonly StoredRow[]): Promise<TakenRows> {
    const due = unsorted.toSorted((one, other) => compareIds(one.id, other.id))
    if (!due.some((row) => row.any_waits)) return new Taken(session, this.#statements, due.map(rowOf), 'unchanged')
    const waiting = await session.run(this.#statements.waitingBefore(due))
    const { free, first, others } = withoutThoseBehind(due, waiting)
    const isChanged = first.length + others.length > 0
    if (isChanged) await session.run(this.#statements.putBehind(first, others))
    return new Taken(session, this.#statements, free.map(rowOf), isChanged ? 'changed' : 'unchanged')
  }

  /** `undefined`: another relay has what was to be locked. */
  async #begin(
    take: Script<StoredRow>,
  ): Promise<{ readonly session: Session; readonly rows: readonly StoredRow[] } | undefined> {
    try {
      return await this.#sessions.begin(take)
    } catch (error) {
      if (this.#statements.isBusy(error)) return undefined
      throw error
    }
  }
}

/** Lines whose rows may have been put behind one of these that is over. */
function linesBehind(published: readonly OutgoingRow[], unpublished: readonly UnpublishedRow[]): readonly number[] {
  const over = [...published, ...unpublished.flatMap(({ row, as }) => (as === 'parked' ? [row] : []))]
  return [...new Set(over.flatMap(({ line, hasWaited }) => (hasWaited ? [line] : [])))]
}

class Taken implements TakenRows {
  readonly rows: readonly OutgoingRow[]
  readonly #session: Session
  readonly #statements: OutboxStatements
  readonly #table: 'changed' | 'unchanged'

  constructor(
    session: Session,
    statements: OutboxStatements,
    rows: readonly OutgoingRow[],
    table: 'changed' | 'unchanged',
  ) {
    this.#session = session
    this.#statements = statements
    this.rows = rows
    this.#table = table
  }

  async settle(published: readonly OutgoingRow[], unpublished: readonly UnpublishedRow[]): Promise<void> {
    const isChanged = published.length + unpublished.length > 0
    if (!isChanged && this.#table === 'unchanged') return this.#session.rollback()
    const settling = isChanged ? [this.#statements.settle(published, unpublished)] : []
    const lines = linesBehind(published, unpublished)
    await this.#session.commit(lines.length === 0 ? settling : await this.#letGo(settling, lines))
  }

  /** A connection that is lost meanwhile ends its transaction. */
  async #letGo(settling: readonly Script[], lines: readonly number[]): Promise<readonly Script[]> {
    try {
      for (const script of settling) await this.#session.run(script)
      const next = await this.#session.run(this.#statements.following(lines))
      return next.length === 0 ? [] : [this.#statements.letGo(next.map(({ id }) => id))]
    } catch (error) {
      await this.#session.rollback()
      throw error
    }
  }
}
