import type { Purged } from '../../../src/internal.ts'
import { lookedTo } from '../../sql/in-steps.ts'
import type { LeaseStatements } from '../../sql/lease/statements.ts'
import { PagePass } from '../page-pass.ts'
import type { PgSessions } from '../sessions/session.ts'
import type { Tables } from '../statements/tables.ts'
import { lockLeases, writeAudit, writeLeases } from './statements/decide.ts'
import { findLeases, peekLeases, rowsIn } from './statements/look.ts'
import { purgeLeases, type PurgedRow } from './statements/purge.ts'

/** Pages of the table that one purge looks through: 16 MB. */
const PAGES_PER_STEP = 2_000

/** The leases of one scope, in the SQL of Postgres. */
export function pgLeases(sessions: PgSessions, tables: Tables, scope: number): LeaseStatements {
  /** The pass that is under way. */
  let pass: PagePass | undefined
  const step = async (from: number, to: number, limit: number): Promise<PurgedRow | undefined> => {
    const [row] = await sessions.committed(purgeLeases(tables, { scope, fromPage: from, toPage: to, limit }))
    return row?.is_alone === true ? row : undefined
  }
  return {
    async lock(keys) {
      const { session, rows } = await sessions.begin(lockLeases(tables, scope, keys))
      return { session, ...rowsIn(rows) }
    },
    async commit(session, written, audited) {
      for (const statement of writeLeases(tables, scope, written)) await session.run(statement)
      if (audited !== undefined) await session.run(writeAudit(tables, scope, audited))
      await session.commit([])
    },
    read: async (keys) => rowsIn(await sessions.committed(peekLeases(tables, scope, keys))),
    async list({ most, ...page }) {
      const found = await sessions.committed(findLeases(tables, { scope, ...page, most }))
      return { ...rowsIn(found), ...lookedTo(found[0], most) }
    },
    /** A pass through the table takes one call for each step. After the last step the next pass begins. */
    async purge(limit): Promise<Purged> {
      const current = pass ?? new PagePass((await step(0, 0, limit))?.pages ?? 0, PAGES_PER_STEP)
      const row = await step(current.step.from, current.step.to, limit)
      if (row === undefined) return { removed: 0, more: false }
      const { removed, pages } = row
      const more = removed === limit || current.goOn(pages)
      pass = more ? current : undefined
      return { removed, more }
    },
  }
}
