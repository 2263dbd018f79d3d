import { isOneOf, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

export interface HeldRow {
  readonly stream: string
  /** `null` if the stream has no row yet. */
  readonly next: string | null
  readonly outcome: 'g' | 'p' | null
  readonly reason: string | null
  readonly held: string | null
  readonly moved_by: string | null
  readonly attempts: number | null
  readonly attempt_offset: string | null
  readonly attempt_until: string | null
  readonly attempt_owner: string | null
  /** The last message that a handler has committed itself. */
  readonly torn: string | null
}

export interface HeldAgainRow extends Omit<HeldRow, 'torn'> {
  /** `writeBegun` has written the stream. */
  readonly is_begun: boolean
}

/**
 * Holds streams until the transaction ends, and reads their rows. For a single stream it waits for another transaction
 * that holds it (55P03 after `lock_timeout`). Of several it waits for none, so that one held elsewhere does not delay
 * the others: a stream that is not returned is held by another transaction. The lock is an advisory lock and not a lock
 * of the row, so that a person may hold or move a position meanwhile. The second statement sees what the previous
 * holder committed, which the first would not see: hence two statements.
 */
export function holdStreams(tables: Tables, scope: number, streams: readonly string[]): Script<HeldRow> {
  const { wanted, lock, where } = lockStreams(tables, scope, streams)
  return {
    text: `${lock};
select s.stream, ${COLUMNS}, b.last_offset::text as torn
from ${wanted} left join ${tables.position} p on p.scope = ${scope} and p.stream = s.stream
left join ${tables.begun} b on b.scope = ${scope} and b.stream = s.stream${where}`,
  }
}

/**
 * As `holdStreams`, for handlers, plus `writeBegun`. It does not read the table `begun`: at serializable, two
 * concurrent transactions would each have read what the other one writes.
 */
export function holdForHandlers(tables: Tables, scope: number, streams: readonly BegunStream[]): Script<HeldAgainRow> {
  const names = streams.map(({ stream }) => stream)
  const { wanted, lock, where } = lockStreams(tables, scope, names)
  const isHeld = where === '' ? '' : ` where s.stream in (select s.stream from ${wanted}${where})`
  return {
    text: `${lock};
with b as (
${writeBegun(tables, scope, streams, isHeld).text}
)
select s.stream, ${COLUMNS}, b.stream is not null as is_begun
from ${wanted} left join ${tables.position} p on p.scope = ${scope} and p.stream = s.stream
left join b on b.stream = s.stream${where}`,
  }
}

interface Locking {
  /** The streams, as `s`. */
  readonly wanted: string
  readonly lock: string
  /** Selects the locked streams of `wanted`; empty: all. */
  readonly where: string
}

function lockStreams({ schema }: Tables, scope: number, streams: readonly string[]): Locking {
  const [only, ...others] = streams
  // Planned in half the time of an array.
  if (only !== undefined && others.length === 0) {
    const stream = text(only)
    const lock = `select pg_advisory_xact_lock(${lockOf(schema, scope, stream)})` // mutant: pg-offsets-unlocked
    return { wanted: `(select ${stream} as stream) as s`, lock, where: '' }
  }
  const wanted = `unnest(array[${streams.map(text).join(', ')}]) with ordinality as s (stream, n)`
  return {
    wanted,
    lock: `select set_config('consume_once.held', coalesce(string_agg(s.n::text, ','), ''), true)
from ${wanted} where pg_try_advisory_xact_lock(${lockOf(schema, scope, 's.stream')})`,
    where: `\nwhere s.n = any (string_to_array(current_setting('consume_once.held'), ',')::bigint[])`,
  }
}

const COLUMNS = `p.next_offset::text as next, p.outcome::text as outcome, p.reason, p.held, p.moved_by, p.attempts,
  p.attempt_offset::text as attempt_offset, p.attempt_until::text as attempt_until, p.attempt_owner`

/** The number of a stream's advisory lock. Two streams with the same number would only wait for each other. */
export function lockOf(schema: string, scope: number, stream: string): string {
  return `hashtextextended('consume-once ${schema} ${scope} ' || ${stream}, 0)`
}

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
function writeBegun({ begun }: Tables, scope: number, streams: readonly BegunStream[], where: string): Script {
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
