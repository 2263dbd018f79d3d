import type { Purged } from '../../src/spi.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import { lookForOver, removeOver, type OverRow, type Purgeable, type StepRow } from './statements/purge.ts'

/** Rows that one statement looks at. It takes well under a second. */
const ROWS_PER_STEP = 20_000

/** The most rows that one call removes; it limits the length of the statement. */
const MOST = 5_000

/** Passes through a table in the order of its keys. The next call continues where the last one ended. */
export class Purge {
  readonly #sessions: MysqlSessions
  readonly #scope: number
  /** By table. */
  readonly #after = new Map<string, string>()

  constructor(sessions: MysqlSessions, scope: number) {
    this.#sessions = sessions
    this.#scope = scope
  }

  /** One step. `more`: the pass has not reached the end of the table. */
  async step(from: Purgeable, most: number): Promise<Purged> {
    const scope = this.#scope
    const after = this.#after.get(from.table) ?? ''
    const limit = Math.min(most, MOST)
    const { session, sets } = await this.#sessions.begin(
      lookForOver(from, { scope, after, rows: ROWS_PER_STEP, limit }),
    )
    try {
      const [[step], over] = sets as unknown as readonly [readonly [StepRow], readonly OverRow[]]
      const keys = over.map(({ k }) => k)
      const isFull = keys.length === limit
      const last = isFull ? (keys.at(-1) ?? '') : Number(step.looked) < ROWS_PER_STEP ? '' : (step.last ?? '')
      let removed = 0
      if (keys.length === 0) await session.rollback()
      else {
        const [row] = await session.run(removeOver(from, scope, keys))
        await session.commit([{ statements: from.noted ?? [] }])
        removed = Number(row?.removed ?? 0)
      }
      this.#after.set(from.table, last)
      return { removed, more: last !== '' }
    } catch (error) {
      await session.rollback()
      throw error
    }
  }
}
