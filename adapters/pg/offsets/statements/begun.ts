import { isOneOf, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface BegunStream {
  readonly stream: string
  /** The first and the last granted offset. */
  readonly first: bigint
  readonly last: bigint
}

/**
 * Writes the granted range of each stream, in the transaction of the handlers; the mark removes it again. So a row that
 * is visible to others was committed by a handler. It is unknown how many of the effects were committed with it, and
 * its messages are torn. Locks the new rows. Returns the streams that were written. A stream is left out if its row
 * exists and its messages are not passed yet. `where` selects from `s.stream`.
 */
export function writeBegun({ begun }: Tables, scope: number, streams: readonly BegunStream[], where: string): Script {
  const rows = streams.map(({ stream, first, last }) => `(${text(stream)}, ${first}::bigint, ${last}::bigint)`)
  return {
    text: `insert into ${begun} as b (scope, stream, first_offset, last_offset)
select ${scope}, s.stream, s.first, s.last from (values ${rows.join(', ')}) as s (stream, first, last)${where}
on conflict (scope, stream) do update set first_offset = excluded.first_offset, last_offset = excluded.last_offset
  where b.last_offset < excluded.first_offset
returning stream`,
  }
}

/** Removes the rows of this transaction before its COMMIT, but none that another transaction left. */
export function removeBegun({ begun }: Tables, scope: number, streams: readonly string[]): Script {
  return {
    text: `delete from ${begun}
where scope = ${scope} and stream ${isOneOf(streams)} and xmin = pg_current_xact_id()::xid`,
  }
}

/** The stream has no position: a person has removed it, and its torn messages with it. */
export function forgetBegun({ begun }: Tables, scope: number, streams: readonly string[]): Script {
  return { text: `delete from ${begun} where scope = ${scope} and stream ${isOneOf(streams)}` }
}
