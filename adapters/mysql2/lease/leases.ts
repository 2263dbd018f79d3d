import type { LeaseStatements } from '../../sql/lease/statements.ts'
import { Purge } from '../purge.ts'
import type { MysqlSessions } from '../sessions/sessions.ts'
import { auditDecision } from '../statements/audit.ts'
import { lookedTo } from '../../sql/in-steps.ts'
import { lookAhead } from '../statements/look-ahead.ts'
import type { Script } from '../statements/script.ts'
import type { Tables } from '../statements/tables.ts'
import {
  listLeases,
  lockLeases,
  readLeases,
  rowOf,
  writeLeases,
  type KeptRow,
  type NowRow,
} from './statements/records.ts'

/** The leases of one scope, in the SQL of MariaDB and MySQL. */
export function mysqlLeases(sessions: MysqlSessions, tables: Tables, scope: number): LeaseStatements {
  const passes = new Purge(sessions, scope)
  return {
    async lock(keys) {
      const { session, sets } = await sessions.begin(lockLeases(tables, scope, keys))
      const [rows, times] = sets as readonly [readonly KeptRow[], readonly NowRow[]]
      return { session, rows: rows.map(rowOf), now: nowIn(times) }
    },
    async commit(session, written, audited) {
      const statements = writeLeases(tables, scope, written)
      const noted = audited === undefined ? [] : auditDecision(tables, scope, audited.decided, audited)
      const last: Script = { statements: [...statements, ...noted] }
      await session.commit([last])
    },
    async read(keys) {
      const rows = await sessions.committed(readLeases(tables, scope, keys))
      return { rows: rows.flatMap((row) => (row.k === null ? [] : [rowOf(row as KeptRow)])), now: nowIn(rows) }
    },
    async list({ state, after, most, limit }) {
      const [ahead] = await sessions.committed(lookAhead(tables.lease, { scope, after, most }))
      const seenTo = lookedTo(ahead, most)
      const rows = await sessions.committed(listLeases(tables, { scope, state, after, upTo: seenTo.last, limit }))
      return { ...seenTo, rows: rows.map(rowOf), now: nowIn(rows) }
    },
    purge: (limit) =>
      passes.step(
        { tables, table: 'lease', isOver: 'keep_until is not null and keep_until <= utc_timestamp(6)' },
        limit,
      ),
  }
}

function nowIn([first]: readonly NowRow[]): number {
  return Number(first?.now_ms ?? 0)
}
