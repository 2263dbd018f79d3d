import type { Session, Sessions } from './session.ts'
import type { ReadRow } from './sql/read-records.ts'
import type { Statement } from './sql/statement.ts'

/**
 * Reads records whose done ones stay done, whatever becomes of the server: they lead to a settle. Where marks of the scope are
 * flushed late they are read once more, so that a flush after that proves it.
 */
export async function readForGood(
  sessions: Sessions,
  session: Pick<Session, 'run'>,
  statement: Statement<ReadRow>,
): Promise<readonly ReadRow[]> {
  const rows = await session.run(statement)
  const isLate = rows.some((row) => row.outcome === 'd' && row.is_late)
  return isLate ? sessions.durably(statement, session) : rows
}
