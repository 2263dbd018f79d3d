import { isAmong } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

export interface RecordRow {
  readonly key: string
  readonly outcome: 'd' | 'g' | 'p'
  readonly fp: string | null
  readonly owner: string | null
  readonly reason: string | null
  readonly result: string | null
  readonly transaction: string
}

/** What is read of a row. */
export const RECORD = `encode(key, 'hex') as key, outcome::text as outcome, encode(fp, 'hex') as fp, owner, reason, result,
  xmin::text as transaction`

export interface ReadRow extends RecordRow {
  /** Some process of the scope commits marks that are flushed later: what is done may be lost until then. */
  readonly is_late: boolean
}

/**
 * Locks nothing. Whether marks are flushed late is read in the same snapshot: who sees such a mark sees that, since the scope
 * was told before its first. A statement of its own after the insert: one that began before the wait would not see the row that was
 * waited for. A key that is not returned has lost its record since.
 */
export function readRecords({ inbox, scope: scopes }: Tables, scope: number, keys: readonly string[]): Script<ReadRow> {
  return {
    text: `select ${RECORD}, (select flush_ticker from ${scopes} where id = ${scope}) as is_late
from ${inbox} where scope = ${scope} and key ${isAmong(keys)}`,
  }
}
