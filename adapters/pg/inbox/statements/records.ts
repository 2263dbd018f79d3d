import type { Decision } from '../../../../src/internal.ts'
import type { StoredKey } from '../../../sql/bytes.ts'
import type { Ahead } from '../../../sql/in-steps.ts'
import type { HeldRow, RecordRow, Writing } from '../../../sql/inbox/statements.ts'
import { bytes, epochMs, fromNow, fpAt, isAmong, keyAt, places, rowsByKey, text } from '../../statements/literals.ts'
import type { Script, Statement } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { DURABLY } from '../../statements/transaction.ts'
import { tornKeys } from './claims.ts'

export interface ClaimedRow {
  readonly key: string
}

/**
 * Inserts a row for each key and locks it until the transaction ends. Waits for another open transaction that has
 * inserted the same key (55P03 after `lock_timeout`): if that rolls back, the key is returned; if it commits, it is
 * not. So a key that is not returned has a committed record, never a running one. Keys are inserted in order, so that
 * two batches cannot deadlock.
 */
export function claimKeys(tables: Tables, scope: number, items: readonly StoredKey[]): Script<ClaimedRow> {
  return { text: `${insertKeys(tables, scope, items)}\nreturning encode(key, 'hex') as key` }
}

/**
 * Fails without the primary key of the table (42P10): every message would run twice. Without `keepMs` the rows are not to
 * stay.
 */
function insertKeys({ inbox }: Tables, scope: number, items: readonly StoredKey[], keepMs?: number): string {
  const until = keepMs === undefined ? 'null' : fromNow(keepMs)
  return `insert into ${inbox} (scope, key, fp, keep_until) ${rowsOf(scope, items, until)}\non conflict (scope, key) do nothing`
}

/** A single row is planned much faster than an array. */
function rowsOf(scope: number, items: readonly StoredKey[], until: string): string {
  const [first, second] = items
  if (first !== undefined && second === undefined) {
    return `values (${scope}, ${bytes(first.key)}, ${first.fp === null ? 'null' : bytes(first.fp)}, ${until})`
  }
  return `select ${scope}, ${keyAt(items.map(({ key }) => key))}, ${fpAt(items.map(({ fp }) => fp))}, ${until}
from ${places(items)}
order by 2`
}

export const TORN = 'transaction-torn: a handler ended its transaction by itself (COMMIT)'

/** The columns that are read of an inbox row `i`, with `tornOf`. */
const RECORD: string = `encode(i.key, 'hex') as key, case when t.is_torn then 'p' else i.outcome::text end as outcome,
  encode(i.fp, 'hex') as fp, i.owner, case when t.is_torn then '${TORN}' else i.reason end as reason, i.result,
  coalesce(i.attempt, t.n) as attempt, coalesce(i.cause, t.cause) as cause,
  ${epochMs('i.done_at')} as since,
  i.xmin::text as writer`

/**
 * A row of the inbox exists from its claim on, and the mark removes the row of the claim in the message of its COMMIT. So a
 * visible record whose claim has begun was committed by a handler. The handler's earlier writes were committed too, and it
 * is unknown how many: such a record is not done but parked, with its number of attempts. Read in the same snapshot.
 */
function tornOf(tables: Tables, scope: number | string, from?: number): string {
  const { attempt, claim } = tables
  // mutant: pg-torn-row-taken-for-done
  return `cross join lateral (select i.outcome = 'd' and i.key = any (${tornKeys(tables, scope, from)}) as is_torn offset 0) as torn
left join lateral (
  select true as is_torn, coalesce(a.n, 0) + (
    select count(*) from ${claim} c where c.scope = i.scope and i.key = any (c.keys) and c.token is distinct from a.owner)::int as n, a.cause
  from (select) as one left join ${attempt} a on a.scope = i.scope and a.key = i.key) as t on torn.is_torn`
}

export interface ReadRow extends RecordRow {
  /** Some process of the scope commits marks that are flushed later: until then a crash may undo `done`. */
  readonly is_late: boolean
}

/**
 * Locks nothing. Whether marks are flushed late is read in the same snapshot: a reader that sees such a mark also sees
 * this flag, because it was set before the scope's first such mark. It is a separate statement after the insert: one
 * that began before the wait would not see the row that it waited for. A key that is not returned has lost its record
 * since.
 */
export function readRecords(tables: Tables, scope: number, keys: readonly string[], from?: number): Script<ReadRow> {
  return {
    text: `select ${RECORD}, (select flush_ticker from ${tables.scope} where id = ${scope}) as is_late
from ${rowsByKey(tables.inbox, { scope, keys, columns: '*, xmin' })} i ${tornOf(tables, scope, from)}`,
  }
}

/**
 * Holds keys until the transaction ends, with or without a record, and reads them. Waits for an open transaction that
 * has inserted, changed or deleted one of them (55P03 after `lock_timeout`), so that no running claim is missed. A key
 * that is not returned has lost its record between the two statements.
 */
export function holdRecords(tables: Tables, scope: number, keys: readonly string[]): Script<HeldRow> {
  const items = keys.map((key) => ({ key, fp: null }))
  return {
    // mutant: pg-decision-past-a-claim
    text: `${claimKeys(tables, scope, items).text};
select ${RECORD}, i.xmin = pg_current_xact_id()::xid as is_new
from ${tables.inbox} i ${tornOf(tables, scope)} where i.scope = ${scope} and i.key ${isAmong(keys)} order by i.key for update of i`,
  }
}

interface Listing {
  readonly scope: number
  readonly outcome: 'd' | 'g' | 'p'
  /** In hex; empty for the first page. */
  readonly after: string
  /** In hex. */
  readonly upTo: string | undefined
  readonly limit: number
}

/** In hex, of the longest keys. */
const LAST_KEY = 'ff'.repeat(32)

/** Records of any outcome for what is done; for the others, those with an index of their own: set aside. */
const IS_LOOKED_AT = { d: 'true', g: `i.outcome <> 'd'`, p: `i.outcome <> 'd'` }

/** How far the next records reach, in the order of keys, and how many they are. Locks nothing. */
export function lookAhead(
  { inbox }: Tables,
  { scope, outcome, after, most }: Omit<Listing, 'upTo' | 'limit'> & { readonly most: number },
): Statement<Ahead> {
  return {
    text: `with ahead as materialized (
  select i.key from ${inbox} i where i.scope = $1 and i.key > decode($2, 'hex') and ${IS_LOOKED_AT[outcome]} order by i.key limit $3
)
select (select count(*) from ahead)::int as looked, encode((select key from ahead order by key desc limit 1), 'hex') as last`,
    values: [scope, after, most],
  }
}

/**
 * In the order of keys. Locks nothing. Records that were set aside have an index of their own, which the condition
 * names. Torn records are found through their claims, which are few.
 */
export function listRecords(tables: Tables, { scope, outcome, after, upTo, limit }: Listing): Statement<RecordRow> {
  const { inbox } = tables
  const listed = (which: string): string => `select ${RECORD} from ${inbox} i ${tornOf(tables, '$1')}
where i.scope = $1 and i.key > decode($2, 'hex') and i.key <= decode($4, 'hex') and ${which} order by i.key limit $3`
  const values = [scope, after, limit, upTo ?? LAST_KEY]
  switch (outcome) {
    case 'd':
      return { text: listed(`i.outcome = 'd' and not torn.is_torn`), values }
    case 'g':
      return { text: listed(`i.outcome = 'g' and i.outcome <> 'd'`), values }
    case 'p': {
      const torn = `i.outcome = 'd' and i.key = any (${tornKeys(tables, '$1')})`
      const either = `(${listed(`i.outcome = 'p' and i.outcome <> 'd'`)}) union all (${listed(torn)})`
      return { text: `select * from (${either}) as listed order by key limit $3`, values }
    }
  }
}

/** A key in hex and its result. */
export type KeptResult = readonly [key: string, result: string]

/**
 * Writes results into rows that this transaction has inserted, in the message of its COMMIT. Nobody else sees the rows,
 * so it waits for nothing and finds all of them.
 */
export function keepResults({ inbox }: Tables, scope: number, results: readonly KeptResult[]): Script {
  const [first, second] = results
  if (first !== undefined && second === undefined) {
    const [key, result] = first
    return { text: `update ${inbox} set result = ${text(result)} where scope = ${scope} and key = ${bytes(key)}` }
  }
  const rows = results.map(([key, result]) => `(${bytes(key)}, ${text(result)})`)
  // As the conflict of an INSERT each row is found by its key: see `rowsByKey`. It inserts nothing where there is none.
  return {
    text: `insert into ${inbox} (scope, key, result)
select ${scope}, r.key, r.result from (values ${rows.join(', ')}) as r (key, result)
cross join lateral (select from ${inbox} where scope = ${scope} and key = r.key offset 0) as held
on conflict (scope, key) do update set result = excluded.result`,
  }
}

/**
 * Removes inbox rows that this transaction holds: it has inserted them, and nobody else sees them, or it has locked
 * them. Waits for nothing; finds all of them.
 */
export function removeKeys({ inbox }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${inbox} where scope = ${scope} and key ${isAmong(keys)}` }
}

/** As `removeKeys`, but only rows that this transaction has inserted: the others are records. */
export function removeHeld(tables: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `${removeKeys(tables, scope, keys).text} and xmin = pg_current_xact_id_if_assigned()::xid` }
}

/**
 * Writes records instead of a transaction, committed by itself, and removes their attempts: a record that is reopened
 * has all of them. Waits for a transaction that holds a key (55P03 after `lock_timeout`: another owner has it). A key
 * that is not returned has a record already: the owner token shows whether this call wrote it before, or another owner
 * did.
 */
export function writeRecords(
  tables: Tables,
  scope: number,
  { items, owner, outcome, reason, result, cause, keepMs, lockTimeoutMs }: Writing,
): Statement<Pick<RecordRow, 'key' | 'outcome'>> {
  const { inbox, attempt } = tables
  const [keys, fps] = [items.map(({ key }) => key), items.map(({ fp }) => fp)]
  const attempts = items.map((item) => item.attempt)
  return {
    text: `with limits as materialized (select ${DURABLY}, set_config('lock_timeout', $8, true)),
written as (
  insert into ${inbox} (scope, key, fp, owner, outcome, reason, result, attempt, cause, keep_until)
  select $1, decode(x.key, 'hex'), decode(x.fp, 'hex'), $4, $5::"char", $6, $7, x.attempt, $10, ${fromNow('$11')}
  from limits, unnest($2::text[], $3::text[], $9::int[]) as x (key, fp, attempt)
  order by 2
  on conflict (scope, key) do nothing
  returning key, outcome
),
forgotten as (delete from ${attempt} where scope = $1 and key in (select key from written))
select encode(key, 'hex') as key, outcome::text from written`,
    values: [scope, keys, fps, owner, outcome, reason, result, String(lockTimeoutMs), attempts, cause, keepMs],
  }
}

interface Deciding {
  readonly scope: number
  readonly keys: readonly string[]
  readonly decision: Decision
  readonly by: string
  readonly reason: string
}

/** Logs a decision with the previous rows. Must run before the rows are changed. Locks nothing. */
export function auditDecision({ audit, inbox }: Tables, { scope, keys, decision, by, reason }: Deciding): Statement {
  // The row of an imported key is one that this transaction has inserted to hold it.
  const before = decision === 'import' ? 'null' : 'row_to_json(i)'
  return {
    text: `insert into ${audit} (scope, key, decision, by_whom, reason, before)
select i.scope, i.key, $3, $4, $5, ${before} from ${inbox} i
where i.scope = $1 and i.key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x))`,
    values: [scope, keys, decision, by, reason],
  }
}

/** Turns locked rows into done ones, whose retention begins now. It finds all of them. */
export function makeDone({ inbox }: Tables, scope: number, keys: readonly string[], keepMs: number): Statement {
  return {
    text: `update ${inbox} set outcome = 'd', reason = null, result = null, attempt = null, cause = null, done_at = now(), keep_until = ${fromNow('$3')}
where scope = $1 and key = any (array(select decode(x, 'hex') from unnest($2::text[]) as x))`,
    values: [scope, keys, keepMs],
  }
}
