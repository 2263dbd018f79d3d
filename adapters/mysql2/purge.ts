import type { Purged } from '../../src/spi.ts'
import type { Place } from './place.ts'
import { lastRows } from './statements/script.ts'
import { lookForOver, removeOver, type OverRow, type Purgeable, type StepRow } from './statements/purge.ts'

/** Rows that one statement looks at. It takes well under a second. */
const ROWS_PER_STEP = 20_000

/** The most rows that one call removes; it limits the length of the statement. */
const MOST = 5_000

/** Passes through a table in the order of its keys. The next call continues where the last one ended. */
export class Purge {
  /** Keys are table and scope. */
  readonly #after = new Map<string, string>()

  /** One step. `more`: the pass has not reached the end of the table. */
  async step({ sessions, scope }: Place, from: Purgeable, most: number): Promise<Purged> {
    const cursor = `${from.table} ${scope}`
    const after = this.#after.get(cursor) ?? ''
    const limit = Math.min(most, MOST)
    const { session, sets } = await sessions.begin(lookForOver(from, { scope, after, rows: ROWS_PER_STEP, limit }))
    try {
      const [[step], over] = sets as unknown as readonly [readonly [StepRow], readonly OverRow[]]
      const keys = over.map(({ k }) => k)
      const isFull = keys.length === limit
      const last = isFull ? (keys.at(-1) ?? '') : Number(step.looked) < ROWS_PER_STEP ? '' : (step.last ?? '')
      let removed = 0
      if (keys.length === 0) await session.rollback()
      else {
        const [row] = lastRows(await session.run(removeOver(from, scope, keys).statements)) as readonly {
          removed: number | string
        }[]
        await session.commit({ statements: [] })
        removed = Number(row?.removed ?? 0)
      }
      this.#after.set(cursor, last)
      return { removed, more: last !== '' }
    } catch (error) {
      await session.rollback()
      throw error
    }
  }
}
