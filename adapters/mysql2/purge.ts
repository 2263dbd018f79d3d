import type { Purged } from '../../src/internal.ts'
import { randomKey } from '../sql/bytes.ts'
import { Pass } from '../sql/pass.ts'
import type { MysqlSessions } from './sessions/sessions.ts'
import type { Script } from './statements/script.ts'
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
  readonly #passes = new Map<string, Pass<string>>()

  constructor(sessions: MysqlSessions, scope: number) {
    this.#sessions = sessions
    this.#scope = scope
  }

  /** One step. `more`: the pass has not reached the end of the table. */
  async step(from: Purgeable, most: number): Promise<Purged> {
    const scope = this.#scope
    const pass = this.#passes.get(from.table) ?? new Pass('', randomKey())
    const { at: after } = pass
    const limit = Math.min(most, MOST)
    const { session, sets } = await this.#sessions.begin(
      lookForOver(from, { scope, after, rows: ROWS_PER_STEP, limit }),
    )
    try {
      const [[step], over] = sets as unknown as readonly [readonly [StepRow], readonly OverRow[]]
      const keys = over.map(({ k }) => k)
      const isFull = keys.length === limit
      const last = isFull ? keys.at(-1) : Number(step.looked) < ROWS_PER_STEP ? undefined : (step.last ?? undefined)
      let removed = 0
      if (keys.length === 0) await session.rollback()
      else {
        const [row] = await session.run(removeOver(from, scope, keys))
        const noted: Script = { statements: from.noted ?? [] }
        await session.commit([noted])
        removed = Number(row?.removed ?? 0)
      }
      const next = pass.after(last)
      if (next === undefined) this.#passes.delete(from.table)
      else this.#passes.set(from.table, next)
      const isSplit = next?.isWrapped === true && !pass.isWrapped && removed < most
      if (!isSplit) return { removed, more: next !== undefined }
      const rest = await this.step(from, most - removed)
      return { removed: removed + rest.removed, more: rest.more }
    } catch (error) {
      await session.rollback()
      throw error
    }
  }
}
