import type { Purged, Purging } from '../../../src/spi.ts'
import type { Place } from '../place.ts'
import type { Session } from '../sessions/session.ts'
import { isCanceled } from '../sql-errors.ts'
import { purgeAlone, purgeRecords, type PurgedRow, type Purge as PurgeOf } from './statements/purge-records.ts'

/** Pages of the table that one step looks through: 64 MB. */
const PAGES_PER_STEP = 8_192

/**
 * Removes one bounded batch for each call, in a short transaction. At first the index by time finds old rows directly.
 * After many purges its pages mix old and new rows and it helps little: then a pass goes through the table in steps.
 */
export class Purge {
  /** For each scope that is in a pass, the page at which the next step begins. */
  readonly #passes = new Map<number, number>()

  /** Does nothing if another process is purging: that one continues. */
  async run(place: Place, how: Purging): Promise<Purged> {
    const { sessions, tables, scope } = place
    const { session, rows } = await sessions.begin(purgeAlone(tables, scope))
    try {
      if (rows[0]?.is_alone !== true) {
        await session.rollback()
        return { removed: 0, more: false }
      }
      const from = this.#passes.get(scope)
      const pages = from === undefined ? undefined : { from, to: from + PAGES_PER_STEP }
      const row = await remove(place, session, { ...how, scope, pages })
      await session.commit({ text: 'select' })
      return this.#after(scope, how.limit, row, pages?.to)
    } catch (error) {
      await session.rollback()
      if (!isCanceled(error) || this.#passes.has(scope)) throw error
      this.#passes.set(scope, 0)
      return { removed: 0, more: true }
    }
  }

  #after(scope: number, limit: number, { records, attempts, pages }: PurgedRow, looked: number | undefined): Purged {
    const removed = records + attempts
    if (records >= limit || attempts === limit) return { removed, more: true }
    if (looked === undefined) return { removed, more: false }
    const more = looked < pages
    if (more) this.#passes.set(scope, looked)
    else this.#passes.delete(scope)
    return { removed, more }
  }
}

async function remove({ tables }: Place, session: Session, purge: PurgeOf): Promise<PurgedRow> {
  const [row] = await session.run(purgeRecords(tables, purge))
  if (row === undefined) throw new TypeError('a SELECT without a row (purge)')
  return row
}
