import { TIMESTAMP } from './list-positions.ts'
import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface PositionRow {
  readonly stream: string
  readonly next: string
  readonly outcome: 'g' | 'p' | null
  readonly moved_by: string | null
  readonly timestamp: string | null
  readonly held: string | null
}

/** Locks nothing. A stream that is not returned has no row. */
export function readPositions({ position }: Tables, scope: number, streams: readonly string[]): Statement<PositionRow> {
  return {
    text: `select stream, next_offset::text as next, outcome::text as outcome, moved_by, ${TIMESTAMP}, held
from ${position} where scope = $1 and stream = any ($2::text[])`,
    values: [scope, streams],
  }
}
