import { despiteConflicts } from '../../sql/despite-conflicts.ts'
import { isConflictOfTransactions } from '../sql-errors.ts'
import type { PgPlace } from '../database.ts'
import type { Statement } from '../statements/statement.ts'
import type { Tables } from '../statements/tables.ts'

/** The tables and scope of leases, and how long a call waits for another one. */
export type LeasePlace = Omit<PgPlace, 'losses' | 'inbox' | 'leases'>

/** Runs one statement about leases, committed by itself. Retries after a deadlock. */
export function ask<Asked, Row>(
  { sessions, tables }: LeasePlace,
  statement: (tables: Tables, asked: Asked) => Statement<Row>,
  asked: Asked,
): Promise<readonly Row[]> {
  return despiteConflicts(() => sessions.committed(statement(tables, asked)), isConflictOfTransactions)
}
