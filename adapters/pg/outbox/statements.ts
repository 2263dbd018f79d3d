import { hash } from 'node:crypto'
import type { FailedRow, Outgoing } from '../../../src/internal.ts'
import { bytes, text } from '../statements/literals.ts'
import type { Script, Statement } from '../statements/statement.ts'
import { DURABLY } from '../statements/transaction.ts'
import type { Tables } from '../statements/tables.ts'

// A row of `outbox` is a message that was committed with an effect and is not yet confirmed by its broker. `line` orders
// it: rows of one line are published in the order of their `id`, one after the other. A lane is 1/32 of all lines. A relay
// works on lanes that it has locked, so no two publish rows of one line at once, and a frozen one
// loses its lanes with its connection.
//
// Rows are never skipped: a relay has no position, it takes what is there. A transaction that commits late only makes its
// rows visible late. Whoever depends on it commits after it, and so has a higher `id`.

/** Lanes are numbered from 0. */
export const LANES = 32

/** Lanes of one transaction of a relay, so that others have some too. */
const MOST_LANES = 8

const COLUMNS = 'lane, line, system, message_id, place, key, value, attributes'

/**
 * In the order of the messages. A relay may publish what it sees, so the transaction is flushed whatever its session, or the
 * flush ticker of the store, does.
 */
export function writeOutgoing({ outbox }: Tables, messages: readonly Outgoing[]): Script {
  const rows = messages.map((one) => `(${valuesOf(one).map(literal).join(', ')})`)
  return { text: `select ${DURABLY};\ninsert into ${outbox} (${COLUMNS}) values ${rows.join(',\n')}` }
}

/** The same in one statement with parameters, for a transaction of the user. */
export function writeOutgoingWith({ outbox }: Tables, messages: readonly Outgoing[]): Statement {
  const values = messages.flatMap(valuesOf)
  const rows = messages.map(
    (_, row) => `(${TYPES.map((type, at) => `$${row * TYPES.length + at + 1}::${type}`).join(', ')})`,
  )
  return {
    text: `insert into ${outbox} (${COLUMNS})
select ${COLUMNS} from (values ${rows.join(', ')}) as message (${COLUMNS}), (select ${DURABLY}) as flushed`,
    values,
  }
}

/** Of `COLUMNS`. */
const TYPES = ['smallint', 'int', '"char"', 'text', 'text', 'bytea', 'bytea', 'text']

type Value = string | number | Uint8Array | null

function valuesOf({ line, system, messageId, place, key, value, attributes }: Outgoing): readonly Value[] {
  // eslint-disable-next-line no-bitwise
  return [line & (LANES - 1), line, system === 'kafka' ? 'k' : 'r', messageId, place, key, value, attributes]
}

function literal(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? text(value) : bytes(Buffer.from(value).toString('hex'))
}

export interface LaneRow {
  readonly lane: number
}

const isDue = (o: string): string => `${o}.parked_at is null and (${o}.not_before is null or ${o}.not_before <= now())`

/** Lines that are held up, and by which row: few, so each row is compared with all of them. */
const heldUp = (outbox: string): string =>
  `with held_up as materialized (
  select line, min(id) as id from ${outbox} where not_before > now() and parked_at is null group by line)`

/** On a row `o`. */
const IS_FREE = 'not exists (select 1 from held_up h where h.line = o.line and h.id < o.id)'

/** Locks nothing; one row. */
export function anyDue({ outbox }: Tables): Script<{ readonly is_any: boolean }> {
  return {
    text: `${heldUp(outbox)}
select exists (select 1 from ${outbox} o where ${isDue('o')} and ${IS_FREE}) as is_any`,
  }
}

/**
 * Locks lanes that have due rows and that no other relay has locked, until the transaction ends. The locks are advisory, with
 * a number made of the schema.
 */
export function lockLanes({ outbox, schema }: Tables): Script<LaneRow> {
  const lock = hash('sha256', `consume-once outbox ${schema}`, 'hex').slice(0, 8)
  return {
    text: `${heldUp(outbox)}
select busy.lane from (
  select n as lane from generate_series(0, ${LANES - 1}) as n
  where exists (select 1 from ${outbox} o where o.lane = n and ${isDue('o')} and ${IS_FREE})
  order by random() offset 0) as busy
where pg_try_advisory_xact_lock(${Buffer.from(lock, 'hex').readInt32BE()}, busy.lane) limit ${MOST_LANES}`,
  }
}

export interface OutgoingRowRow {
  readonly id: string
  readonly attempts: number
  readonly line: number
  readonly system: 'k' | 'r'
  readonly message_id: string
  readonly place: string
  /** Hex. */
  readonly key: string | null
  readonly value: string | null
  readonly attributes: string
}

/** Rows of locked lanes, the oldest first, but for those behind one of their line that waits. */
export function dueRows({ outbox }: Tables, lanes: readonly number[], most: number): Script<OutgoingRowRow> {
  return {
    text: `${heldUp(outbox)}
select o.id::text as id, o.attempts, o.line, o.system::text as system, o.message_id, o.place,
  encode(o.key, 'hex') as key, encode(o.value, 'hex') as value, o.attributes
from ${outbox} o
where o.lane in (${lanes.join(', ')}) and ${isDue('o')} and ${IS_FREE}
order by o.id limit ${most}`,
  }
}

/** The end of the transaction of a relay. */
export function settleRows({ outbox }: Tables, published: readonly string[], failed: readonly FailedRow[]): Script {
  const removed =
    published.length === 0 ? [] : [`delete from ${outbox} where id = any ('{${published.join(',')}}'::bigint[])`]
  const written = failed.map(({ id, cause, retryAfterMs }) => {
    const when =
      retryAfterMs === undefined
        ? 'parked_at = now(), not_before = null'
        : `not_before = now() + ${retryAfterMs} * interval '1 millisecond'`
    return `update ${outbox} set attempts = attempts + 1, ${when}, cause = ${text(cause)} where id = ${id}`
  })
  return { text: [...removed, ...written].join(';\n') }
}

export interface BacklogRow {
  readonly system: 'k' | 'r'
  readonly place: string
  readonly waiting: number
  readonly failing: number
  readonly parked: number
  /** Seconds. */
  readonly oldest_s: number
}

/** Rows that are counted at most. */
const MOST_COUNTED = 10_000

/** By place. */
export function backlog({ outbox }: Tables): Script<BacklogRow> {
  return {
    text: `select system::text as system, place, count(*) filter (where parked_at is null)::int as waiting,
  count(*) filter (where parked_at is null and attempts > 0)::int as failing,
  count(*) filter (where parked_at is not null)::int as parked,
  coalesce(extract(epoch from clock_timestamp() - min(created_at) filter (where parked_at is null)), 0)::float8 as oldest_s
from (select * from ${outbox} order by id limit ${MOST_COUNTED}) as oldest group by 1, 2 order by 1, 2`,
  }
}

export interface ParkedRow {
  readonly id: string
  readonly place: string
  readonly message_id: string
  readonly cause: string | null
  readonly attempts: number
}

export function parked({ outbox }: Tables, most: number): Script<ParkedRow> {
  return {
    text: `select id::text as id, place, message_id, cause, attempts from ${outbox} where parked_at is not null order by id limit ${most}`,
  }
}

/** They are due at once, with attempts counted anew. Answers with those that were parked. */
export function unpark({ outbox }: Tables, ids: readonly string[]): Script<{ readonly id: string }> {
  return {
    text: `update ${outbox} set parked_at = null, not_before = null, attempts = 0
where parked_at is not null and id = any ('{${ids.join(',')}}'::bigint[]) returning id::text as id`,
  }
}
