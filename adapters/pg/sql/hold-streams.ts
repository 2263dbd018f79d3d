import { text } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

export interface HeldRow {
  readonly stream: string
  /** `null` where the stream has no row yet. */
  readonly next: string | null
  readonly outcome: 'g' | 'p' | null
  readonly reason: string | null
  readonly held: string | null
  readonly moved_by: string | null
  readonly attempts: number | null
  readonly attempt_offset: string | null
  readonly attempt_until: string | null
  readonly attempt_owner: string | null
}

/**
 * Holds streams until the transaction ends, and reads their rows. Waits for another transaction that holds the only one that
 * is wanted (55P03 after `lock_timeout`). Of several it waits for none, so that one that is held elsewhere does not keep the
 * others: a stream that is not returned is held by another transaction. What holds a stream is an advisory lock, not a lock of
 * its row: attempts are counted in the row, by another connection, while it is held. The second statement sees what was
 * committed by whoever held the stream before, which the first would not: hence two.
 */
export function holdStreams(tables: Tables, scope: number, streams: readonly string[]): Script<HeldRow> {
  const [only, ...others] = streams
  return only !== undefined && others.length === 0
    ? holdOne(tables, scope, text(only))
    : holdFree(tables, scope, streams)
}

/** Planned in half the time that an array takes. */
function holdOne({ schema, position }: Tables, scope: number, stream: string): Script<HeldRow> {
  return {
    text: `select pg_advisory_xact_lock(${lockOf(schema, scope, stream)});
select ${stream} as stream, ${COLUMNS}
from (select) as held left join ${position} p on p.scope = ${scope} and p.stream = ${stream}`,
  }
}

function holdFree({ schema, position }: Tables, scope: number, streams: readonly string[]): Script<HeldRow> {
  const wanted = `unnest(array[${streams.map(text).join(', ')}]) with ordinality as s (stream, n)`
  return {
    text: `select set_config('consume_once.held', coalesce(string_agg(s.n::text, ','), ''), true)
from ${wanted} where pg_try_advisory_xact_lock(${lockOf(schema, scope, 's.stream')});
select s.stream, ${COLUMNS}
from ${wanted} left join ${position} p on p.scope = ${scope} and p.stream = s.stream
where s.n = any (string_to_array(current_setting('consume_once.held'), ',')::bigint[])`,
  }
}

const COLUMNS = `p.next_offset::text as next, p.outcome::text as outcome, p.reason, p.held, p.moved_by, p.attempts,
  p.attempt_offset::text as attempt_offset, p.attempt_until::text as attempt_until, p.attempt_owner`

/** The number of the advisory lock of a stream. Two streams with one number would only wait for each other. */
export function lockOf(schema: string, scope: number, stream: string): string {
  return `hashtextextended('consume-once ${schema} ${scope} ' || ${stream}, 0)`
}
