import type { Sessions } from '../sessions/session.ts'
import type { ReadRow } from './statements/read-records.ts'
import type { Statement } from '../statements/statement.ts'

/**
 * Reads records so that a `done` in the result survives a crash of the server, because it leads to a settle. If marks
 * of the scope are flushed late, it reads them again before a flush that proves them durable. Do not call it with an
 * open transaction: it waits for another connection.
 */
export async function readForGood(sessions: Sessions, statement: Statement<ReadRow>): Promise<readonly ReadRow[]> {
  const rows = await sessions.committed(statement)
  return rows.some(mayBeUndone) ? sessions.durably(statement) : rows
}

/** A crash of the server may undo it, because it may not be flushed. */
export function mayBeUndone({ outcome, is_late: isLate }: ReadRow): boolean {
  return outcome === 'd' && isLate // mutant: duplicates-before-the-flush
}
