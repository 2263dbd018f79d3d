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
import { errnoOf, isBeforeTables, isLockTimeout } from '../sql-errors.ts'
import { bytes, deleteIds, fromHex, fromNow, inHex, text } from '../statements/literals.ts'
import type { Script } from '../statements/script.ts'
import type { Tables } from '../statements/tables.ts'

const ALL = [...COLUMNS.map((column) => `\`${column}\``), 'created_at'].join(', ')

/** Words of the language. */
const COLUMN = { system: 'o.`system`', key: 'o.`key`', value: 'o.`value`', anySystem: 'min(`system`)' } as const

const NOW = 'utc_timestamp(6)'

function writeOutgoing({ outbox }: Tables, messages: readonly Outgoing[]): Script {
  const rows = messages.map((one) => `(${valuesOf(one).map(literal).join(', ')}, ${NOW})`)
  return { statements: [`insert into ${outbox} (${ALL}) values ${rows.join(', ')}`] }
}

function writeOutgoingWith(
  { outbox }: Tables,
  messages: readonly Outgoing[],
): ReturnType<OutboxStatements['writeWith']> {
  const values = messages.flatMap(valuesOf).map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value))
  const row = `(${COLUMNS.map(() => '?').join(', ')}, ${NOW})`
  return { text: `insert into ${outbox} (${ALL}) values ${messages.map(() => row).join(', ')}`, values }
}

function literal(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? text(value) : bytes(Buffer.from(value).toString('hex'))
}

const isDue = (o: string): string => `${o}.parked_at is null and (${o}.not_before is null or ${o}.not_before <= ${NOW})`

/** Lines that are held up, and by which row: few, so each row is compared with all of them. */
const heldUp = (outbox: string): string =>
  `(select line, min(id) as id from ${outbox} where not_before > ${NOW} and parked_at is null group by line)`

/** Rows `o` that are due and not behind one of their line that waits; the rest of a condition follows. */
const dueOf = (outbox: string): string =>
  `${outbox} o left join ${heldUp(outbox)} as held_up on held_up.line = o.line and held_up.id < o.id
where held_up.line is null and ${isDue('o')}`

function anyDue({ outbox }: Tables): Script<{ readonly is_any: number }> {
  return { statements: [`select exists (select 1 from ${dueOf(outbox)}) as is_any`] }
}

/**
 * One lane. MariaDB before 10.6 cannot skip what is locked, and takes no NOWAIT in a compound statement, but a wait of 0;
 * MySQL takes no such wait. So it fails where another relay has the lane (1205, 3572). The subquery locks nothing.
 */
function lockLane({ outbox, outboxLane }: Tables, isMariadb: boolean): Script<{ readonly lane: number }> {
  return {
    statements: [
      ...(isMariadb ? ['set session innodb_lock_wait_timeout = 0'] : []),
      `select lane from ${outboxLane} where lane = (select lane from (
  select l.lane from ${outboxLane} l where exists (select 1 from ${dueOf(outbox)} and o.lane = l.lane)
  order by rand() limit 1) as busy) for update${isMariadb ? '' : ' nowait'}`,
    ],
    read: ({ lane }: { readonly lane: number | string }) => ({ lane: Number(lane) }),
  }
}

/** Where somebody has emptied all tables, as tests do. */
export function fillLanes({ outboxLane }: Tables): Script {
  const rows = Array.from({ length: LANES }, (_, lane) => `(${lane})`)
  return { statements: [`insert ignore into ${outboxLane} (lane) values ${rows.join(', ')}`] }
}

const NOWAIT_REFUSED = 3572

interface DueRow {
  readonly id: string
  readonly attempts: number | string
  readonly line: number | string
  readonly sys: string
  readonly message_id: string
  readonly place: string
  readonly k: string | null
  readonly v: string | null
  readonly attributes: string
}

/** Text is asked for in hex: it depends on no character set and no setting of the client. */
function dueRows({ outbox }: Tables, lanes: readonly number[], most: number): Script<StoredRow> {
  return {
    statements: [
      `select cast(o.id as char) as id, o.attempts, o.line, ${inHex(COLUMN.system)} as sys, ${inHex('o.message_id')} as message_id,
  ${inHex('o.place')} as place, ${inHex(COLUMN.key)} as k, ${inHex(COLUMN.value)} as v, ${inHex('o.attributes')} as attributes
from ${dueOf(outbox)} and o.lane in (${lanes.join(', ')}) order by o.id limit ${most}`,
    ],
    read: ({ id, attempts, line, sys, message_id: messageId, place, k: key, v: value, attributes }: DueRow) => ({
      id,
      attempts: Number(attempts),
      line: Number(line),
      system: fromHex(sys),
      message_id: fromHex(messageId),
      place: fromHex(place),
      key,
      value,
      attributes: fromHex(attributes),
    }),
  }
}

function settleRows({ outbox }: Tables, published: readonly string[], failed: readonly FailedRow[]): Script {
  const removed = published.length === 0 ? [] : [deleteIds(outbox, published)]
  const written = failed.map(({ id, cause, retryAfterMs }) => {
    const when =
      retryAfterMs === undefined ? `parked_at = ${NOW}, not_before = null` : `not_before = ${fromNow(retryAfterMs)}`
    return `update ${outbox} set attempts = attempts + 1, ${when}, cause = ${text(cause)} where id = ${id}`
  })
  return { statements: [...removed, ...written] }
}

type Counted = Readonly<Record<'waiting' | 'failing' | 'parked' | 'oldest_s', number | string | null>> & {
  readonly sys: string
  readonly place: string
}

function backlog({ outbox }: Tables): Script<StoredBacklog> {
  return {
    statements: [
      `select ${inHex(COLUMN.anySystem)} as sys, ${inHex('place')} as place, sum(parked_at is null) as waiting,
  sum(parked_at is null and attempts > 0) as failing, sum(parked_at is not null) as parked,
  timestampdiff(microsecond, min(case when parked_at is null then created_at end), ${NOW}) / 1000000 as oldest_s
from (select * from ${outbox} order by id limit ${MOST_COUNTED}) as oldest group by \`system\`, place order by 1, 2`,
    ],
    read: ({ sys, place, waiting, failing, parked: set, oldest_s: oldest }: Counted) => ({
      system: fromHex(sys),
      place: fromHex(place),
      waiting: Number(waiting),
      failing: Number(failing),
      parked: Number(set),
      oldest_s: Number(oldest ?? 0),
    }),
  }
}

interface RefusedRow {
  readonly is_parked: number | string
  readonly id: string
  readonly place: string
  readonly message_id: string
  readonly cause: string | null
  readonly attempts: number | string
}

/** Of a row. */
const WAS_REFUSED = '(parked_at is not null or not_before is not null)'

function refused({ outbox }: Tables, most: number): Script<StoredRefused> {
  return {
    statements: [
      `select cast(id as char) as id, ${inHex('place')} as place, ${inHex('message_id')} as message_id, ${inHex('cause')} as cause, attempts,
  parked_at is not null as is_parked from ${outbox} where ${WAS_REFUSED} order by id limit ${most}`,
    ],
    read: ({ id, place, message_id: messageId, cause, attempts, is_parked: isParked }: RefusedRow) => ({
      id,
      place: fromHex(place),
      message_id: fromHex(messageId),
      cause: cause === null ? null : fromHex(cause),
      attempts: Number(attempts),
      is_parked: Number(isParked),
    }),
  }
}

function unpark({ outbox }: Tables, ids: readonly string[]): Script<{ readonly id: string }> {
  return {
    statements: [
      `select cast(id as char) as id from ${outbox} where ${WAS_REFUSED} and id in (${ids.join(', ')})`,
      ...ids.map(
        (id) =>
          `update ${outbox} set parked_at = null, not_before = null, attempts = 0 where id = ${id} and ${WAS_REFUSED}`,
      ),
    ],
  }
}

/** The outbox in the SQL of MySQL and MariaDB. `isMariadb`: known once the server was checked. */
export function mysqlOutboxStatements(tables: Tables, isMariadb: () => boolean): OutboxStatements {
  return {
    write: (messages) => writeOutgoing(tables, messages),
    writeWith: (messages) => writeOutgoingWith(tables, messages),
    anyDue: () => anyDue(tables),
    lockLanes: () => lockLane(tables, isMariadb()),
    isBeforeTables,
    isBusy: (error) => isLockTimeout(error) || errnoOf(error) === NOWAIT_REFUSED,
    due: (lanes, most) => dueRows(tables, lanes, most),
    settle: (published, failed) => settleRows(tables, published, failed),
    backlog: () => backlog(tables),
    refused: (most) => refused(tables, most),
    unpark: (ids) => unpark(tables, ids),
  }
}
