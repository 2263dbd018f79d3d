import type { Outgoing, OutgoingRow, UnpublishedRow } from '../../../src/internal.ts'
import {
  ALL_LANES,
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
import { errnoOf, isBeforeTables, isLockTimeout } from '../sql-errors.ts'
import { bytes, deleteIds, fromHex, fromNow, inHex, text, updateIds } from '../statements/literals.ts'
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

/** Rows `o` of a lane that were never put off, and those whose time has come. */
const NEVER = 'o.parked_at is null and o.not_before is null'
const AGAIN = `o.parked_at is null and o.not_before <= ${NOW}`

/** On a lane `l`. */
const hasDue = (outbox: string): string => `(exists (select 1 from ${outbox} o where o.lane = l.lane and ${NEVER})
  or exists (select 1 from ${outbox} o where o.lane = l.lane and ${AGAIN}))`

function anyDue({ outbox, outboxLane }: Tables, lanes: readonly number[]): Script<{ readonly is_any: number }> {
  const some = `select 1 from ${outboxLane} l where l.lane in (${lanes.join(', ')}) and ${hasDue(outbox)}`
  return { statements: [`select exists (${some}) as is_any`] }
}

/** Waits for no relay that has locked some. */
export function readLanes({ outboxLane }: Tables): Script<{ readonly lane: number }> {
  return {
    statements: [`select lane from ${outboxLane}`],
    read: ({ lane }: { readonly lane: number | string }) => ({ lane: Number(lane) }),
  }
}

/** Where somebody has emptied all tables, as tests do. `undefined`: all lanes are there. */
export function fillLanes(
  { outboxLane }: Tables,
  there: readonly { readonly lane: number }[] = [],
): Script | undefined {
  const known = new Set(there.map(({ lane }) => lane))
  const missing = Array.from({ length: ALL_LANES }, (_, lane) => lane).filter((lane) => !known.has(lane))
  if (missing.length === 0) return undefined
  const rows = missing.map((lane) => `(${lane})`)
  return { statements: [`insert ignore into ${outboxLane} (lane) values ${rows.join(', ')}`] }
}

const NOWAIT_REFUSED = 3572

/** The lane that the transaction has locked. */
const LANE = '@consume_once_lane'

/** Text is asked for in hex: it depends on no character set and no setting of the client. */
const COLUMNS_OF_ROW = `cast(o.id as char) as id, o.attempts, o.line, ${inHex(COLUMN.system)} as sys, ${inHex('o.message_id')} as message_id,
  ${inHex('o.place')} as place, ${inHex(COLUMN.key)} as k, ${inHex(COLUMN.value)} as v, ${inHex('o.attributes')} as attributes,
  o.not_before is not null as has_waited`

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
  readonly has_waited: number | string
  readonly any_waits: number | string
}

/**
 * One lane. It is chosen by a statement of its own: MySQL would choose anew for each lane that it reads. As the value of a SET
 * it would lock the rows that it reads.
 * MariaDB before 10.6 cannot skip what is locked, and takes no NOWAIT in a compound statement, but a wait of 0; MySQL takes
 * no such wait. So it fails where another relay has the lane (1205, 3572).
 * The rows are read after the lock: the relay that had the lane before has removed what it has published by then.
 */
function take({ outbox, outboxLane }: Tables, { lanes, most }: Take, isMariadb: boolean): Script<StoredRow> {
  const some = `o.lane = ${LANE}`
  const rows = `select ${COLUMNS_OF_ROW}, exists (select 1 from ${outbox} w where w.lane = ${LANE} and w.parked_at is null
    and w.not_before is not null) as any_waits from ${outbox} o force index (outbox_due) where ${some}`
  return {
    statements: [
      ...(isMariadb ? ['set session innodb_lock_wait_timeout = 0'] : []),
      `set ${LANE} = null`,
      `select l.lane into ${LANE} from ${outboxLane} l where l.lane in (${lanes.join(', ')}) and ${hasDue(outbox)}
  order by rand() limit 1`,
      `select lane from ${outboxLane} where lane = ${LANE} for update${isMariadb ? '' : ' nowait'}`,
      `(${rows} and ${NEVER} order by o.id limit ${most})
union all
(${rows} and ${AGAIN} order by o.not_before, o.id limit ${most})`,
    ],
    read: ({
      id,
      attempts,
      line,
      sys,
      message_id: messageId,
      place,
      k: key,
      v: value,
      attributes,
      ...row
    }: DueRow) => ({
      id,
      attempts: Number(attempts),
      line: Number(line),
      system: fromHex(sys),
      message_id: fromHex(messageId),
      place: fromHex(place),
      key,
      value,
      attributes: fromHex(attributes),
      has_waited: Boolean(Number(row.has_waited)),
      any_waits: Boolean(Number(row.any_waits)),
    }),
  }
}

interface LineOfRow {
  readonly line: number | string
  readonly id: string
}

function waitingBefore(
  { outbox }: Tables,
  rows: readonly StoredRow[],
): Script<{ readonly line: number; readonly id: string }> {
  const ids = rows.map(({ id }) => id).join(', ')
  const parts = [...new Set(rows.map(({ line }) => line))].map(
    (line) => `(select o.line, cast(o.id as char) as id from ${outbox} o force index (outbox_line)
  where o.line = ${line} and o.id < ${rows.at(-1)?.id ?? 0} and o.parked_at is null and o.not_before is not null
    and o.id not in (${ids}) order by o.id limit 2)`,
  )
  return { statements: [parts.join('\nunion all\n')], read: ({ line, id }: LineOfRow) => ({ line: Number(line), id }) }
}

function putBehind({ outbox }: Tables, first: readonly string[], others: readonly string[]): Script {
  const by = (ids: readonly string[], ms: number): readonly string[] =>
    ids.length === 0 ? [] : [updateIds(outbox, `not_before = ${fromNow(ms)}`, ids)]
  return { statements: [...by(first, BEHIND_FOR_MS.first), ...by(others, BEHIND_FOR_MS.others)] }
}

/** Of the next rows of a line, whatever they are: those behind another are rarely after more of others than these. */
function following({ outbox }: Tables, lines: readonly number[]): Script<{ readonly id: string }> {
  const parts = lines.map(
    (line) => `(select cast(next.id as char) as id from (select o.id, o.not_before, o.cause
  from ${outbox} o force index (outbox_line) where o.line = ${line} and o.parked_at is null
  order by o.id limit ${MOST_FOLLOWING}) as next where next.not_before is not null and next.cause is null)`,
  )
  return { statements: [parts.join('\nunion all\n')] }
}

function letGo({ outbox }: Tables, ids: readonly string[]): Script {
  return { statements: [updateIds(outbox, `not_before = ${NOW}`, ids)] }
}

function settleRows(
  { outbox }: Tables,
  published: readonly OutgoingRow[],
  unpublished: readonly UnpublishedRow[],
): Script {
  const ids = published.map(({ id }) => id)
  return {
    statements: [
      ...(ids.length > 0 ? [deleteIds(outbox, ids)] : []),
      ...unpublished.map((one) => updateIds(outbox, whatFollows(one), [one.row.id])),
    ],
  }
}

function whatFollows(one: UnpublishedRow): string {
  switch (one.as) {
    case 'refused':
      return `attempts = attempts + 1, not_before = ${fromNow(one.retryAfterMs)}, cause = ${text(one.cause)}`
    case 'parked':
      return `attempts = attempts + 1, parked_at = ${NOW}, not_before = null, cause = ${text(one.cause)}`
    case 'unanswered':
      return `not_before = ${fromNow(one.retryAfterMs)}${one.cause === undefined ? '' : `, cause = ${text(one.cause)}`}`
  }
}

type Counted = Readonly<Record<'waiting' | 'failing' | 'parked' | 'oldest_s', number | string | null>> & {
  readonly sys: string
  readonly place: string
}

function backlog({ outbox }: Tables): Script<StoredBacklog> {
  return {
    statements: [
      `select ${inHex(COLUMN.anySystem)} as sys, ${inHex('place')} as place, sum(parked_at is null) as waiting,
  sum(parked_at is null and cause is not null) as failing, sum(parked_at is not null) as parked,
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
  readonly k: string | null
  readonly cause: string | null
  readonly attempts: number | string
}

/** In the order of the number, not of its text. */
function shown(rows: string): Script<StoredRefused> {
  return {
    statements: [
      `select cast(o.id as char) as id, ${inHex('place')} as place, ${inHex('message_id')} as message_id, ${inHex('`key`')} as k,
  ${inHex('cause')} as cause, attempts, parked_at is not null as is_parked from ${rows}`,
    ],
    read: ({ id, place, message_id: messageId, k: key, cause, attempts, is_parked: isParked }: RefusedRow) => ({
      id,
      place: fromHex(place),
      message_id: fromHex(messageId),
      key,
      cause: cause === null ? null : fromHex(cause),
      attempts: Number(attempts),
      is_parked: Number(isParked),
    }),
  }
}

function refused({ outbox }: Tables, most: number): Script<StoredRefused> {
  return shown(`${outbox} o where cause is not null order by o.id limit ${most}`)
}

function beginning({ outbox }: Tables, start: string): Script<StoredRefused> {
  const oldest = `(select * from ${outbox} order by id limit ${MOST_SEARCHED})`
  return shown(`${oldest} as o where left(o.message_id, ${start.length}) = ${text(start)} order by o.id`)
}

/** `not_before` is not null: rows may be behind it. */
function unpark({ outbox }: Tables, ids: readonly string[]): Script<{ readonly id: string }> {
  return {
    statements: [
      `select cast(id as char) as id from ${outbox} where cause is not null and id in (${ids.join(', ')})`,
      updateIds(
        outbox,
        `parked_at = null, not_before = case when cause is null then not_before else ${NOW} end, attempts = 0, cause = null`,
        ids,
      ),
    ],
  }
}

/** The outbox in the SQL of MySQL and MariaDB. `isMariadb`: known once the server was checked. */
export function mysqlOutboxStatements(tables: Tables, isMariadb: () => boolean): OutboxStatements {
  return {
    write: (messages) => writeOutgoing(tables, messages),
    writeWith: (messages) => writeOutgoingWith(tables, messages),
    anyDue: (lanes) => anyDue(tables, lanes),
    take: (what) => take(tables, what, isMariadb()),
    isBeforeTables,
    isBusy: (error) => isLockTimeout(error) || errnoOf(error) === NOWAIT_REFUSED,
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
