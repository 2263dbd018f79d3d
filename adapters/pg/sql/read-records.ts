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

/**
 * Locks nothing. A statement of its own after the insert: one that began before the wait would not see the row that was
 * waited for. A key that is not returned has lost its record since.
 */
export function readRecords({ inbox }: Tables, scope: number, keys: readonly string[]): Script<RecordRow> {
  return {
    text: `select ${RECORD}
from ${inbox} where scope = ${scope} and key ${isAmong(keys)}`,
  }
}
