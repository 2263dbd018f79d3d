import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface ListedPositionRow {
  readonly stream: string
  readonly next: string
  readonly timestamp: string | null
  readonly held: string | null
  /** Milliseconds since the epoch. */
  readonly held_since: string | null
}

/** All positions of a scope, by name. Locks nothing. */
export function listPositions({ position }: Tables, scope: number): Statement<ListedPositionRow> {
  return {
    text: `select stream, next_offset::text as next, ${TIMESTAMP}, held,
  round(extract(epoch from held_since) * 1000)::text as held_since
from ${position} where scope = $1 order by stream`,
    values: [scope],
  }
}

/** The timestamp of the message right before the position, if that is the one stored. */
export const TIMESTAMP = `case when last_offset = next_offset - 1 then last_timestamp end::text as timestamp`
