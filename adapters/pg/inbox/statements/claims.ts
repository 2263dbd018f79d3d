import type { StoredKey } from '../../../sql/bytes.ts'
import type { AttemptRow } from '../../../sql/inbox/statements.ts'
import { bytes, epochMs, fpAt, fromNow, keyAt, places, text } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

// A row of `claim` counts an attempt for each of its keys. It is committed before the transaction of the handlers begins,
// which moves it once it holds them:
//
// - `c`, counted: the transaction does not hold its keys yet, or is open, or is gone. One that holds them has moved the
//   row, which shows in its `xmax`.
// - `h`: the handlers may run. The transaction removes the row in the message of its COMMIT, so nobody sees this phase
//   unless a handler has committed by itself: its keys have torn records.
// - `e`: gone, and some of its keys have ended since. Those that are left have failed.
//
// So one row stands for the attempts of a whole batch, and goes when it is marked. What remains of a claim that is over
// is read with the attempts (`triedKeys`), until its keys are marked, set aside or decided about.

interface Counting {
  readonly scope: number
  readonly items: readonly StoredKey[]
  readonly token: string
  readonly keepMs: number
}

/** The transaction takes its keys in the message that counts. One that does not hold them by then never will. */
const TAKES_WITHIN = `(interval '10 seconds' + current_setting('lock_timeout')::interval)`

/**
 * On a row `c` that is visible: its transaction is gone, and its attempts count. The row was moved by a transaction that
 * is neither visible nor running, so it was rolled back; its `xmax` shows which one. Read after the keys were inserted, by
 * a statement of its own: whoever held one of them has ended by then. Whoever changes the row of another claim does so in a
 * subtransaction, whose ID is not in the snapshot's list of running ones. So the row does not look open meanwhile.
 */
// mutant: first-attempt-not-kept
const isOver = (c: string): string => `(${c}.phase <> 'c' or case
  when ${c}.xmax = '0'::xid then ${c}.at < clock_timestamp() - ${TAKES_WITHIN}
  else not (${c}.xmax = any (array(select running::xid from pg_snapshot_xip(pg_current_snapshot()) as running))
    or age(${c}.xmax) <= age(pg_snapshot_xmax(pg_current_snapshot())::xid)) end)`

/** An array of keys in hex. */
function arrayOf(keys: readonly string[]): string {
  const [first, second] = keys
  if (first !== undefined && second === undefined) return `array[${bytes(first)}]`
  return `array(select ${keyAt(keys)} from ${places(keys)})`
}

/**
 * Counts an attempt for each key. The owner token makes the statement safe to send again: a claim counts once. Waits for a
 * transaction that was begun with the same token (55P03 after `lock_timeout`).
 */
export function countClaim({ claim }: Tables, { scope, items, token, keepMs }: Counting): Script {
  const [first, second] = items
  const fps = items.map(({ fp }) => fp)
  const isOne = first !== undefined && second === undefined
  const fpsOf = isOne
    ? `array[${first.fp === null ? 'null' : bytes(first.fp)}]::bytea[]`
    : `array(select ${fpAt(fps)} from ${places(items)})`
  return {
    text: `insert into ${claim} (scope, token, keep_until, keys, fps)
values (${scope}, ${text(token)}, ${fromNow(keepMs)}, ${arrayOf(items.map(({ key }) => key))}, ${fpsOf})
on conflict (scope, token) do update set at = excluded.at, phase = excluded.phase, keep_until = excluded.keep_until,
  keys = excluded.keys, fps = excluded.fps`,
  }
}

/** The answer of the first statement of `beginClaim`. */
export interface InsertedRow {
  /** Those that had no record, joined, in hex; `null`, or no row: there are none. */
  readonly keys: string | null
}

/** The answer of the second one. No row: somebody has removed the row of the claim, so nothing was inserted. */
export interface BegunRow {
  /** Transaction ID, the `xmin` that later readers of the rows see. */
  readonly transaction: string
  readonly is_read_committed: boolean
  /** Some of the keys may have been tried before: read `triedKeys`. Always false above READ COMMITTED. */
  readonly is_tried: boolean
  /** For `Asked.from` of later reads, if it was asked for. */
  readonly oldest: number | null
}

/**
 * The first statements of the transaction of the handlers: insert a row of the inbox for each key of the claim and lock it
 * until the transaction ends, then move the row of the claim. The first waits for another open transaction that has
 * inserted the same key (55P03 after `lock_timeout`): if that rolls back, the key is in the answer; if it commits, it is
 * not. So a key that is not there has a committed record, never a running one. Keys are inserted in order, so that two
 * batches cannot deadlock. Fails without the primary key of the inbox (42P10): every message would run twice.
 *
 * The second says whether earlier attempts are to be read. Few messages have any, and Postgres takes longer to plan
 * `triedKeys` than for the rest of a claim. It is a statement of its own after the insert: only so it sees the row of a
 * claim that the insert has waited for.
 */
export function beginClaim(
  tables: Tables,
  { scope, token, keepMs, keys }: Omit<Counting, 'items'> & { readonly keys: readonly string[] },
  { from, isOldestAsked }: { readonly from: number; readonly isOldestAsked: boolean },
): Script<BegunRow> {
  const { claim } = tables
  const [first, second] = keys
  const only = second === undefined ? first : undefined
  const mine = `c.scope = ${scope} and c.token = ${text(token)}`
  const oldest = isOldestAsked ? oldestClaim(tables, scope, from) : 'null'
  return {
    text: `${insertClaimed(tables, scope, mine, fromNow(keepMs), only !== undefined)};
update ${claim} c set phase = 'h' where ${mine}
returning pg_current_xact_id()::xid::text as transaction, ${READ_COMMITTED} as is_read_committed,
  ${READ_COMMITTED} and (${mayBeTried(tables, { scope, token, from, only })}) as is_tried,
  case when ${READ_COMMITTED} then ${oldest} end as oldest`,
  }
}

/** The keys come from the row of the claim. A single row is planned much faster than an array. */
function insertClaimed({ claim, inbox }: Tables, scope: number, mine: string, until: string, isOne: boolean): string {
  const into = `insert into ${inbox} (scope, key, fp, keep_until)`
  if (isOne) {
    return `${into}
select ${scope}, c.keys[1], c.fps[1], ${until} from ${claim} c where ${mine}
on conflict (scope, key) do nothing
returning encode(key, 'hex') as keys`
  }
  return `with claimed as (
  ${into}
  select ${scope}, u.key, u.fp, ${until} from ${claim} c cross join lateral unnest(c.keys, c.fps) as u (key, fp) where ${mine} order by 2
  on conflict (scope, key) do nothing
  returning key
)
select encode(string_agg(key, ''), 'hex') as keys from claimed`
}

/** On the row `c` of the claim of a token: `triedKeys` may return a row for one of its keys. `only`: in hex, if it has one key. */
function mayBeTried(
  { attempt, claim }: Tables,
  { scope, token, from, only }: { scope: number; token: string; from: number; only: string | undefined },
): string {
  const others = `o.scope = ${scope} and ${sinceOf('o', from)} and o.token <> ${text(token)}`
  if (only !== undefined) {
    return `exists (select from ${attempt} where scope = ${scope} and key = ${bytes(only)})
  or exists (select from ${claim} o where ${others} and ${bytes(only)} = any (o.keys))`
  }
  return `exists (select from unnest(c.keys) as m (key) cross join lateral (
    select from ${attempt} where scope = ${scope} and key = m.key offset 0) as a)
  or exists (select unnest(o.keys) from ${claim} o where ${others} intersect select unnest(c.keys))`
}

/** The level of a transaction that has begun. */
const READ_COMMITTED = `current_setting('transaction_isolation') = 'read committed'`

/** Tells, before it begins, the level of the next transaction of handlers on this connection. */
export const NOT_READ_COMMITTED = `current_setting('default_transaction_isolation') <> 'read committed'`

/** The end of all its attempts: they are marked, or given back. In its transaction, or after that. */
export function forgetClaim({ claim }: Tables, scope: number, token: string): Script {
  return { text: `delete from ${claim} where scope = ${scope} and token = ${text(token)}` }
}

/** What is left of the arrays of a row `c`. */
const without = (keys: string): string =>
  `(keys, fps) = (select coalesce(array_agg(u.key order by u.at), '{}'), coalesce(array_agg(u.fp order by u.at), '{}')
  from unnest(c.keys, c.fps) with ordinality as u (key, fp, at) where u.key <> all (${keys}))`

/** Keys that turned out to have a record: no handler of them begins. In the transaction of the claim. */
export function narrowClaim({ claim }: Tables, scope: number, token: string, keys: readonly string[]): Script {
  return {
    text: `update ${claim} c set ${without(arrayOf(keys))} where c.scope = ${scope} and c.token = ${text(token)}`,
  }
}

interface Ended {
  readonly scope: number
  readonly keys: readonly string[]
  readonly token: string
}

/** What others change of a row must not look as if its transaction was open: see `isOver`. */
const APART = 'savepoint claims_of_consume_once'

/**
 * Takes keys out of a claim. `in-transaction`: in its own, whose handlers' writes are undone. `afterwards`: once that is
 * gone. Waits for a backend that may still be running (55P03 after `lock_timeout`). What a handler has committed by itself
 * stays.
 */
export function endClaim(tables: Tables, { scope, keys, token }: Ended, when: 'in-transaction' | 'afterwards'): Script {
  const mine = `scope = ${scope} and token = ${text(token)}`
  const ended = endedBy(tables, { scope, token, keys: arrayOf(keys) }, when)
  return { text: `${APART};\n${ended};\ndelete from ${tables.claim} where ${mine} and keys = '{}'` }
}

/** The same as a part of a statement. `keys`: an array. */
export function endedBy(
  { claim }: Tables,
  { scope, token, keys }: { readonly scope: number; readonly token: string; readonly keys: string },
  when: 'in-transaction' | 'afterwards',
): string {
  const isGone = when === 'afterwards' ? ` and c.phase <> 'h'` : ''
  // mutant: pg-attempt-of-another-given-back
  return `update ${claim} c set phase = 'e', ${without(keys)} where c.scope = ${scope} and c.token = ${text(token)}${isGone}`
}

/**
 * Takes keys that have ended out of all claims that are over. In a transaction that holds their rows of the inbox, so no
 * other claim can have begun with them. Skips what others are changing.
 */
export function withdrawKeys({ claim }: Tables, scope: number, keys: readonly string[]): Script {
  const ended = arrayOf(keys)
  return {
    text: `${APART};
update ${claim} c set ${LEFT}, ${without(ended)} where ctid = any (array(
  select o.ctid from ${claim} o where o.scope = ${scope} and o.keys && ${ended} and ${isOver('o')} for update skip locked));
delete from ${claim} where ctid = any (array(
  select o.ctid from ${claim} o where o.scope = ${scope} and o.keys = '{}' for update skip locked))`,
  }
}

/** The phase of a row `c` after others have changed it. Torn records stay torn. */
const LEFT = `phase = case when c.phase = 'h' then c.phase else 'e' end`

/**
 * The same for keys that have failed in the claim of a token, whose attempt row counts all of their attempts. Torn records
 * of them stay torn. Waits for others that change the same rows, in one order.
 */
export function failedElsewhere({ claim }: Tables, scope: number, token: string, keys: string): string {
  return `update ${claim} c set phase = 'e', ${without(keys)} where ctid = any (array(
    select o.ctid from ${claim} o where o.scope = ${scope} and o.token <> ${text(token)} and o.keys && ${keys} and o.phase <> 'h' and ${isOver('o')}
    order by o.at, o.token for update))`
}

export interface TriedRow extends AttemptRow {
  /** A person has let it run. */
  readonly is_known: boolean
}

interface Asked {
  readonly scope: number
  /** Keys in hex, or the owner token of the claim that has counted them, whose own attempt is left out. */
  readonly keys: readonly string[] | { readonly of: string }
  /** Not the attempts of this claim. */
  readonly but?: string | undefined
  /** All rows of earlier claims are gone. Milliseconds since 1970. */
  readonly from?: number | undefined
  /** A condition; without it nothing is read. */
  readonly only?: string
  /** What claims that are not over count as: `counted`, `busy` for a moment, or nothing. */
  readonly open: 'counted' | 'busy' | 'nothing'
}

/**
 * How long a key of an open claim is busy, where nobody can wait for its transaction. Two claims that find each other do not
 * come back at one moment.
 */
const MOMENT = `(0.5 + random()) * interval '50 milliseconds'`

/**
 * Attempts of keys, from their own rows and from claims that are over. An attempt row that a claim has written counts that
 * claim too. Locks nothing. A key that is not returned was never tried, or has ended.
 */
export function triedKeys({ attempt, claim }: Tables, asked: Asked): Script<TriedRow> {
  const { scope, keys, from = 0, only = 'true', open } = asked
  const isCounted = open === 'nothing' ? ` and ${isOver('c')}` : ''
  const notBefore =
    open === 'busy' ? `case when ${isOver('c')} then null else clock_timestamp() + ${MOMENT} end` : 'null'
  const but = 'of' in keys ? keys.of : asked.but
  const others = but === undefined ? '' : ` and c.token <> ${text(but)}`
  const wanted =
    'of' in keys
      ? `select unnest(c.keys) as key from ${claim} c where c.scope = ${scope} and c.token = ${text(keys.of)}`
      : `select unnest(${arrayOf(keys)}) as key`
  return {
    text: `with asked as materialized (${wanted}),
counted as (
  select a.* from asked cross join lateral (
    select key, owner, n, fp, cause, not_before, last_at from ${attempt} where scope = ${scope} and key = asked.key offset 0) as a
  where ${only}
  union all
  select u.key, c.token, 1, u.fp, null, ${notBefore}, c.at
  from ${claim} c cross join lateral unnest(c.keys, c.fps) as u (key, fp) join asked on asked.key = u.key
  where c.scope = ${scope} and ${sinceOf('c', from)}${others}${isCounted} and ${only}
), once as (select distinct on (key, owner) * from counted order by key, owner, n desc)
select encode(key, 'hex') as key, sum(n)::int as n, max(cause) as cause, ${epochMs('max(not_before)')} as not_before,
  encode((array_agg(fp order by last_at desc) filter (where fp is not null))[1], 'hex') as fp,
  coalesce(ceil(extract(epoch from max(not_before) - clock_timestamp()) * 1000), 0)::float8 as wait_ms,
  case when isfinite(max(last_at)) then extract(epoch from clock_timestamp() - max(last_at))::float8 * 1000 else 'Infinity' end as age_ms,
  max(last_at) = 'infinity' as is_known
from once group by key`,
  }
}

/**
 * The lower bound of a scan. Rows come and go quickly, and while some old snapshot is open the dead ones stay: without a
 * bound each claim would read all of them.
 */
function sinceOf(c: string, from: number): string {
  return `${c}.at >= to_timestamp(${from / 1000})`
}

/** For `from` of later reads: when the oldest row was written, or a moment ago. */
function oldestClaim({ claim }: Tables, scope: number, from: number): string {
  return `(select floor(extract(epoch from least(min(o.at), clock_timestamp() - interval '1 minute')) * 1000)
  from ${claim} o where o.scope = ${scope} and ${sinceOf('o', from)})::float8`
}

/** Keys of torn records: a handler has committed their claims. */
export function tornKeys({ claim }: Tables, scope: number | string, from = 0): string {
  return `array(select unnest(c.keys) from ${claim} c where c.scope = ${scope} and c.phase = 'h' and ${sinceOf('c', from)})`
}
