import { hash } from 'node:crypto'
import type { FailedRow, Outgoing } from '../../../src/internal.ts'
import {
  COLUMNS,
  LANES,
  MOST_COUNTED,
  valuesOf,
  type OutboxStatements,
  type StoredBacklog,
  type StoredRefused,
  type StoredRow,
  type Value,
} from '../../sql/outbox/statements.ts'
import { isBeforeTables } from '../sql-errors.ts'
import { bytes, text } from '../statements/literals.ts'
import type { Script } from '../statements/statement.ts'
import { DURABLY } from '../statements/transaction.ts'
import type { Tables } from '../statements/tables.ts'

/** Lanes of one transaction of a relay, so that others have some too. */
const MOST_LANES = 8

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

const isDue = (o: string): string => `${o}.parked_at is null and (${o}.not_before is null or ${o}.not_before <= now())`

/** Lines that are held up, and by which row: few, so each row is compared with all of them. */
const heldUp = (outbox: string): string =>
  `with held_up as materialized (
  select line, min(id) as id from ${outbox} where not_before > now() and parked_at is null group by line)`

/** On a row `o`. */
const IS_FREE = 'not exists (select 1 from held_up h where h.line = o.line and h.id < o.id)'

/** Locks nothing; one row. */
function anyDue({ outbox }: Tables): Script<{ readonly is_any: boolean }> {
  return {
    text: `${heldUp(outbox)}
select exists (select 1 from ${outbox} o where ${isDue('o')} and ${IS_FREE}) as is_any`,
  }
}

/**
 * Locks lanes that have due rows and that no other relay has locked, until the transaction ends. The locks are advisory, with
 * a number made of the schema.
 */
function lockLanes({ outbox, schema }: Tables): Script<{ readonly lane: number }> {
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

/** Rows of locked lanes, the oldest first, but for those behind one of their line that waits. */
function dueRows({ outbox }: Tables, lanes: readonly number[], most: number): Script<StoredRow> {
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
function settleRows({ outbox }: Tables, published: readonly string[], failed: readonly FailedRow[]): Script {
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

/** By place. */
function backlog({ outbox }: Tables): Script<StoredBacklog> {
  return {
    text: `select system::text as system, place, count(*) filter (where parked_at is null)::int as waiting,
  count(*) filter (where parked_at is null and attempts > 0)::int as failing,
  count(*) filter (where parked_at is not null)::int as parked,
  coalesce(extract(epoch from clock_timestamp() - min(created_at) filter (where parked_at is null)), 0)::float8 as oldest_s
from (select * from ${outbox} order by id limit ${MOST_COUNTED}) as oldest group by 1, 2 order by 1, 2`,
  }
}

/** Of a row. */
const WAS_REFUSED = '(parked_at is not null or not_before is not null)'

function refused({ outbox }: Tables, most: number): Script<StoredRefused> {
  return {
    text: `select id::text as id, place, message_id, cause, attempts, parked_at is not null as is_parked
from ${outbox} where ${WAS_REFUSED} order by id limit ${most}`,
  }
}

function unpark({ outbox }: Tables, ids: readonly string[]): Script<{ readonly id: string }> {
  return {
    text: `update ${outbox} set parked_at = null, not_before = null, attempts = 0
where ${WAS_REFUSED} and id = any ('{${ids.join(',')}}'::bigint[]) returning id::text as id`,
  }
}

/** The outbox in the SQL of Postgres. */
export function pgOutbox(tables: Tables): OutboxStatements {
  return {
    write: (messages) => writeOutgoing(tables, messages),
    writeWith: (messages) => writeOutgoingWith(tables, messages),
    anyDue: () => anyDue(tables),
    lockLanes: () => lockLanes(tables),
    isBeforeTables,
    isBusy: () => false,
    due: (lanes, most) => dueRows(tables, lanes, most),
    settle: (published, failed) => settleRows(tables, published, failed),
    backlog: () => backlog(tables),
    refused: (most) => refused(tables, most),
    unpark: (ids) => unpark(tables, ids),
  }
}
