import type { Purged } from '../../src/index.ts'
import type { Place } from './place.ts'
import { lastRows } from './sql/script.ts'
import { lookForOver, removeOver, type OverRow, type Purgeable, type StepRow } from './sql/purge.ts'

/** Rows that one statement looks at: it takes well under a second. */
const ROWS_PER_STEP = 20_000

/** Rows removed at most by one call: the length of its statement. */
const MOST = 5_000

/** Passes through a table in the order of its keys; the next call goes on where the last one has ended. */
export class Purge {
  /** By table and scope. */
  readonly #after = new Map<string, string>()

  /** One step. `more`: the pass has not come to the end of the table. */
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
