import { hash } from 'node:crypto'
import type { Outgoing, OutgoingRow, UnpublishedRow } from '../../../src/internal.ts'
import {
  BEHIND_FOR_MS,
  COLUMNS,
  MOST_COUNTED,
  MOST_FOLLOWING,
  MOST_SEARCHED,
  valuesOf,
  type OutboxStatements,
  type StoredBacklog,
  type StoredRefused,
  type StoredRow,
  type Take,
  type Value,
} from '../../sql/outbox/statements.ts'
import { isBeforeTables } from '../sql-errors.ts'
import { bytes, text } from '../statements/literals.ts'
import type { Script } from '../statements/statement.ts'
import { DURABLY } from '../statements/transaction.ts'
import type { Tables } from '../statements/tables.ts'

const ALL = COLUMNS.join(', ')

/**
 * In the order of the messages. A relay may publish what it sees, so the transaction is flushed whatever its session, or the
 * flush ticker of the store, does.
 */
function writeOutgoing({ outbox }: Tables, messages: readonly Outgoing[]): Script {
  const rows = messages.map((one) => `(${valuesOf(one).map(literal).join(', ')})`)
  return { text: `select ${DURABLY};\ninsert into ${outbox} (${ALL}) values ${rows.join(',\n')}` }
}

/** The same in one statement with parameters, for a transaction of the user. */
function writeOutgoingWith(
  { outbox }: Tables,
  messages: readonly Outgoing[],
): ReturnType<OutboxStatements['writeWith']> {
  const values = messages.flatMap(valuesOf)
  const rows = messages.map(
    (_, row) => `(${TYPES.map((type, at) => `$${row * TYPES.length + at + 1}::${type}`).join(', ')})`,
  )
  return {
    text: `insert into ${outbox} (${ALL})
select ${ALL} from (values ${rows.join(', ')}) as message (${ALL}), (select ${DURABLY}) as flushed`,
    values,
  }
}

/** Of `COLUMNS`. */
const TYPES = ['smallint', 'int', '"char"', 'text', 'text', 'bytea', 'bytea', 'text']

function literal(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? text(value) : bytes(Buffer.from(value).toString('hex'))
}

// Each look names its lane or line by two bounds and is ordered by it: then one index alone has the order, and the planner cannot
// choose to read the table by its number instead, in which most rows wait.

/** Whether lane `n` has rows that are due. */
const hasDue = (outbox: string): string =>
  `(select 1 from ${outbox} where lane between n and n and not_before is null and parked_at is null
    order by lane, id limit 1) is not null`

/** Whether lane `n` has rows whose time has come again. */
const hasWaited = (outbox: string): string =>
  `(select 1 from ${outbox} where lane = n and not_before <= now() and parked_at is null
    order by not_before, id limit 1) is not null`

/** Locks nothing; one row. */
function anyDue({ outbox }: Tables, lanes: readonly number[]): Script<{ readonly is_any: boolean }> {
  return {
    text: `select exists (select 1 from unnest('{${lanes.join(',')}}'::smallint[]) as n where ${hasDue(outbox)}
  or ${hasWaited(outbox)}) as is_any`,
  }
}

/** Lanes that the transaction has locked. */
const LOCKED = "current_setting('consume_once.lanes')::smallint[]"

/**
 * Locks lanes that have due rows and that no other relay has locked. A second statement reads their rows, because only its
 * snapshot is taken after the lock: the relay that had a lane before has removed its rows by then. As many of each lane: one that is full does not hold up the others. The locks
 * are advisory, with a number made of the schema.
 */
function take({ outbox, schema }: Tables, { lanes, most, mostLanes }: Take): Script<StoredRow> {
  const lock = hash('sha256', `consume-once outbox ${schema}`, 'hex').slice(0, 8)
  const each = `(select ceil(${most} / greatest(cardinality(${LOCKED}), 1)::float8)::int)`
  return {
    text: `select set_config('consume_once.lanes', coalesce(array_agg(mine.lane), '{}')::text, true) from (
  select busy.lane from (
    select n as lane from unnest('{${lanes.join(',')}}'::smallint[]) as n
    where ${hasDue(outbox)} or ${hasWaited(outbox)}
    order by random() offset 0) as busy
  where pg_try_advisory_xact_lock(${Buffer.from(lock, 'hex').readInt32BE()}, busy.lane) limit ${mostLanes}) as mine;
select o.id::text as id, o.attempts, o.line, o.system::text as system, o.message_id, o.place,
  encode(o.key, 'hex') as key, encode(o.value, 'hex') as value, o.attributes, o.not_before is not null as has_waited,
  (select 1 from ${outbox} where not_before is not null and parked_at is null order by lane, not_before limit 1) is not null
    as any_waits
from unnest(${LOCKED}) as mine (lane), lateral (
  (select * from ${outbox} d where d.lane between mine.lane and mine.lane and d.not_before is null
    and d.parked_at is null order by d.lane, d.id limit ${each})
  union all
  (select * from ${outbox} w where w.lane = mine.lane and w.not_before <= now() and w.parked_at is null
    order by w.not_before, w.id limit ${each})) as o`,
  }
}

function waitingBefore(
  { outbox }: Tables,
  rows: readonly StoredRow[],
): Script<{ readonly line: number; readonly id: string }> {
  const lines = [...new Set(rows.map(({ line }) => line))]
  return {
    text: `select mine.line, w.id::text as id
from unnest('{${lines.join(',')}}'::int[]) as mine (line), lateral (
  select id from ${outbox} w where w.line between mine.line and mine.line and w.not_before is not null
    and w.parked_at is null and w.id < ${rows.at(-1)?.id ?? 0} and w.id <> all ('{${rows.map(({ id }) => id).join(',')}}'::bigint[])
  order by w.line, w.id limit 2) as w
order by w.id`,
  }
}

const fromNow = (ms: number): string => `now() + ${ms} * interval '1 millisecond'`

function putBehind({ outbox }: Tables, first: readonly string[], others: readonly string[]): Script {
  return {
    text: `update ${outbox} as o set not_before = case when o.id = any ('{${first.join(',')}}'::bigint[])
  then ${fromNow(BEHIND_FOR_MS.first)} else ${fromNow(BEHIND_FOR_MS.others)} end
where o.id = any ('{${[...first, ...others].join(',')}}'::bigint[])`,
  }
}

function following({ outbox }: Tables, lines: readonly number[]): Script<{ readonly id: string }> {
  return {
    text: `select next.id::text as id from unnest('{${lines.join(',')}}'::int[]) as mine (line), lateral (
  select id from ${outbox} w where w.line between mine.line and mine.line and w.not_before is not null
  and w.parked_at is null and w.cause is null order by w.line, w.id limit ${MOST_FOLLOWING}) as next`,
  }
}

function letGo({ outbox }: Tables, ids: readonly string[]): Script {
  return { text: `update ${outbox} set not_before = now() where id = any ('{${ids.join(',')}}'::bigint[])` }
}

function settleRows(
  { outbox }: Tables,
  published: readonly OutgoingRow[],
  unpublished: readonly UnpublishedRow[],
): Script {
  const ids = published.map(({ id }) => id).join(',')
  const statements = [
    ...(published.length > 0 ? [`delete from ${outbox} where id = any ('{${ids}}'::bigint[])`] : []),
    ...unpublished.map((one) => `update ${outbox} set ${whatFollows(one)} where id = ${one.row.id}`),
  ]
  return { text: statements.join(';\n') }
}

function whatFollows(one: UnpublishedRow): string {
  switch (one.as) {
    case 'refused':
      return `attempts = attempts + 1, not_before = ${fromNow(one.retryAfterMs)}, cause = ${text(one.cause)}`
    case 'parked':
      return `attempts = attempts + 1, parked_at = now(), not_before = null, cause = ${text(one.cause)}`
    case 'unanswered':
      return `not_before = ${fromNow(one.retryAfterMs)}${one.cause === undefined ? '' : `, cause = ${text(one.cause)}`}`
  }
}

/** By place. */
function backlog({ outbox }: Tables): Script<StoredBacklog> {
  return {
    text: `select system::text as system, place, count(*) filter (where parked_at is null)::int as waiting,
  count(*) filter (where parked_at is null and cause is not null)::int as failing,
  count(*) filter (where parked_at is not null)::int as parked,
  coalesce(extract(epoch from clock_timestamp() - min(created_at) filter (where parked_at is null)), 0)::float8 as oldest_s
from (select * from ${outbox} order by id limit ${MOST_COUNTED}) as oldest group by 1, 2 order by 1, 2`,
  }
}

function refused({ outbox }: Tables, most: number): Script<StoredRefused> {
  return {
    // By the number, not by its text.
    text: `select o.id::text as id, place, message_id, encode(key, 'hex') as key, cause, attempts, parked_at is not null as is_parked
from ${outbox} o where cause is not null order by o.id limit ${most}`,
  }
}

function beginning({ outbox }: Tables, start: string): Script<StoredRefused> {
  return {
    text: `select id::text as id, place, message_id, encode(key, 'hex') as key, cause, attempts, parked_at is not null as is_parked
from (select * from ${outbox} order by id limit ${MOST_SEARCHED}) as oldest
where left(message_id, ${start.length}) = ${text(start)} order by oldest.id`,
  }
}

/** `not_before` is not null: rows may be behind it. */
function unpark({ outbox }: Tables, ids: readonly string[]): Script<{ readonly id: string }> {
  return {
    text: `update ${outbox} set parked_at = null, not_before = now(), attempts = 0, cause = null
where cause is not null and id = any ('{${ids.join(',')}}'::bigint[]) returning id::text as id`,
  }
}

/** The outbox in the SQL of Postgres. */
export function pgOutbox(tables: Tables): OutboxStatements {
  return {
    write: (messages) => writeOutgoing(tables, messages),
    writeWith: (messages) => writeOutgoingWith(tables, messages),
    anyDue: (lanes) => anyDue(tables, lanes),
    take: (what) => take(tables, what),
    isBeforeTables,
    isBusy: () => false,
    waitingBefore: (rows) => waitingBefore(tables, rows),
    putBehind: (first, others) => putBehind(tables, first, others),
    settle: (published, unpublished) => settleRows(tables, published, unpublished),
    following: (lines) => following(tables, lines),
    letGo: (ids) => letGo(tables, ids),
    backlog: () => backlog(tables),
    refused: (most) => refused(tables, most),
    beginning: (start) => beginning(tables, start),
    unpark: (ids) => unpark(tables, ids),
  }
}
