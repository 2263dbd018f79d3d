import type { Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { DURABLY } from '../../statements/transaction.ts'

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
const TIMESTAMP = `case when last_offset = next_offset - 1 then last_timestamp end::text as timestamp`

interface Passing {
  readonly scope: number
  readonly stream: string
  readonly offset: bigint
  readonly follows?: bigint | undefined
  readonly timestamp?: number | undefined
}

/**
 * Moves a stream past a message that was set aside or torn, committed by itself. Changes nothing if the stream is not
 * at that message. Before a torn message there may be a gap.
 */
export function passOffset({ position, begun }: Tables, passing: Passing): Statement {
  const { scope, stream, offset, follows = offset, timestamp } = passing
  return {
    text: `with limits as materialized (select ${DURABLY}),
passed as (
  update ${position} p set next_offset = $3::bigint + 1, outcome = null, reason = null, updated_at = now(),
    last_offset = $3, last_timestamp = $4
  from limits where p.scope = $1 and p.stream = $2 and case when p.outcome is not null then p.next_offset = $3
    else p.next_offset between $5 and $3
      and exists (select 1 from ${begun} b where b.scope = $1 and b.stream = $2 and b.last_offset >= $3) end
  returning p.scope, p.stream
)
delete from ${begun} b using passed where b.scope = passed.scope and b.stream = passed.stream and b.last_offset <= $3`,
    values: [scope, stream, offset.toString(), timestamp ?? null, follows.toString()],
  }
}

interface At {
  readonly scope: number
  readonly stream: string
  readonly next: bigint
}

/**
 * Committed by itself. Changes nothing if the stream has another position, or is held already: the first reason is
 * kept.
 */
export function holdPosition({ position }: Tables, at: At, why: string): Statement {
  return {
    text: `with limits as materialized (select ${DURABLY})
update ${position} p set held = $4, held_since = now()
from limits where p.scope = $1 and p.stream = $2 and p.next_offset = $3 and p.held is null`,
    values: [at.scope, at.stream, at.next.toString(), why],
  }
}

/** Ends a hold because the log is proven to be the same. Changes nothing if the stream has another position. */
export function endHold({ position }: Tables, { scope, stream, next }: At): Statement {
  return {
    text: `with limits as materialized (select ${DURABLY})
update ${position} p set held = null, held_since = null
from limits where p.scope = $1 and p.stream = $2 and p.next_offset = $3 and p.held is not null`,
    values: [scope, stream, next.toString()],
  }
}

interface Releasing {
  readonly scope: number
  readonly stream: string
  /** `undefined`: the position stays. */
  readonly from: bigint | undefined
  readonly by: string
  readonly reason: string
}

/**
 * A person ends a hold. Logged with the previous row, in the same statement. Locks the row. One row. If the position
 * changes, attempts, set-aside messages and torn messages are removed: they belong to messages that no longer exist.
 */
export function releaseHold(
  { position, begun, audit }: Tables,
  { scope, stream, from, by, reason }: Releasing,
): Statement<{ readonly verdict: 'released' | 'not-held' | 'no-position' }> {
  return {
    text: `with limits as materialized (select ${DURABLY}),
before as materialized (
  select p.* from ${position} p, limits where p.scope = $1 and p.stream = $2 and p.held is not null for update of p
),
noted as (
  insert into ${audit} (scope, key, decision, by_whom, reason, before)
  select b.scope, convert_to(b.stream, 'UTF8'), 'release-hold', $4, $5, row_to_json(b) from before b
),
released as (
  update ${position} p
  set next_offset = coalesce($3::bigint, p.next_offset), held = null, held_since = null, last_offset = null,
    last_timestamp = null, updated_at = now(), attempts = case when $3::bigint is null then p.attempts else 0 end,
    ${['attempt_offset', 'attempt_until', 'attempt_owner', 'outcome', 'reason'].map(unlessMoved).join(', ')}
  from before b where p.scope = b.scope and p.stream = b.stream
  returning 1
),
forgotten as (
  delete from ${begun} t using before b where $3::bigint is not null and t.scope = b.scope and t.stream = b.stream
)
select case when exists (select 1 from released) then 'released'
  when exists (select 1 from ${position} where scope = $1 and stream = $2) then 'not-held' else 'no-position' end as verdict`,
    values: [scope, stream, from?.toString() ?? null, by, reason],
  }
}

function unlessMoved(column: string): string {
  return `${column} = case when $3::bigint is null then p.${column} end`
}
