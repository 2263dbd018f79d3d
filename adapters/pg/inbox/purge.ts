import type { Purged, Purging } from '../../../src/spi.ts'
import type { PgSession, PgSessions } from '../sessions/session.ts'
import type { Tables } from '../statements/tables.ts'
import { isCanceled } from '../sql-errors.ts'
import { purgeAlone, purgeRecords, type PurgedRow, type Purge as PurgeOf } from './statements/purge-records.ts'

/** Pages of the table that one step looks through: 64 MB. */
const PAGES_PER_STEP = 8_192

/**
 * Removes one bounded batch for each call, in a short transaction. At first the index by time finds old rows directly.
 * After many purges its pages mix old and new rows and it helps little: then a pass goes through the table in steps.
 */
export class Purge {
  readonly #sessions: PgSessions
  readonly #tables: Tables
  readonly #scope: number
  /** The page at which the next step begins; `undefined`: no pass is under way. */
  #page: number | undefined

  constructor(sessions: PgSessions, tables: Tables, scope: number) {
    this.#sessions = sessions
    this.#tables = tables
    this.#scope = scope
  }

  /** Does nothing if another process is purging: that one continues. */
  async run(how: Purging): Promise<Purged> {
    const scope = this.#scope
    const { session, rows } = await this.#sessions.begin(purgeAlone(this.#tables, scope))
    try {
      if (rows[0]?.is_alone !== true) {
        await session.rollback()
        return { removed: 0, more: false }
      }
      const from = this.#page
      const pages = from === undefined ? undefined : { from, to: from + PAGES_PER_STEP }
      const row = await remove(this.#tables, session, { ...how, scope, pages })
      await session.commit([])
      return this.#after(how.limit, row, pages?.to)
    } catch (error) {
      await session.rollback()
      if (!isCanceled(error) || this.#page !== undefined) throw error
      this.#page = 0
      return { removed: 0, more: true }
    }
  }

  #after(limit: number, { records, attempts, pages }: PurgedRow, looked: number | undefined): Purged {
    const removed = records + attempts
    if (records >= limit || attempts === limit) return { removed, more: true }
    if (looked === undefined) return { removed, more: false }
    const more = looked < pages
    this.#page = more ? looked : undefined
    return { removed, more }
  }
}

async function remove(tables: Tables, session: PgSession, purge: PurgeOf): Promise<PurgedRow> {
  const [row] = await session.run(purgeRecords(tables, purge))
  if (row === undefined) throw new TypeError('a SELECT without a row (purge)')
  return row
}
