import type { Sessions } from './session.ts'
import type { ReadRow } from './sql/read-records.ts'
import type { Statement } from './sql/statement.ts'

/**
 * Reads records whose done ones stay done, whatever becomes of the server: they lead to a settle. Where marks of the scope are
 * flushed late they are read once more, so that a flush after that proves it. Never while a transaction is open: it waits for
 * another connection.
 */
export async function readForGood(sessions: Sessions, statement: Statement<ReadRow>): Promise<readonly ReadRow[]> {
  const rows = await sessions.committed(statement)
  return rows.some(mayBeUndone) ? sessions.durably(statement) : rows
}

/** A crash of the server may take it back: it is not surely flushed. */
export function mayBeUndone({ outcome, is_late: isLate }: ReadRow): boolean {
  return outcome === 'd' && isLate
}
