import type { DurationMs } from '../../../src/index.ts'
import { despiteConflicts } from '../despite-conflicts.ts'
import type { Place } from '../place.ts'
import type { Statement } from '../sql/statement.ts'
import type { Tables } from '../sql/tables.ts'

/** Where the leases of a scope are, and how long a call waits for another. */
export interface LeasePlace extends Omit<Place, 'losses'> {
  readonly lockTimeoutMs: DurationMs
}

/** Runs one statement about leases, committed by itself; again where it was chosen to lose against another. */
export function ask<Asked, Row>(
  { sessions, tables }: LeasePlace,
  statement: (tables: Tables, asked: Asked) => Statement<Row>,
  asked: Asked,
): Promise<readonly Row[]> {
  return despiteConflicts(() => sessions.committed(statement(tables, asked)))
}
