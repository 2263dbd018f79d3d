import { AnsweredKeys } from './answered-keys.ts'
import type { StoredKey } from '../../../sql/bytes.ts'
import type { AttemptRow, Counted } from '../../../sql/inbox/statements.ts'
import {
  areRowsOf,
  bytes,
  epochMs,
  fromNow,
  isAmong,
  keyAt,
  places,
  rowsByKey,
  text,
} from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'
import { fpAt, insertKeys, removeHeld } from './records.ts'

/**
 * `last_at` of a key that a person has let run: neither a purge nor a refund removes it until it is marked or set
 * aside.
 */
const FOR_EVER = 'infinity'

/** The result in one row: hundreds of rows cost client and server more than their contents. */
export interface CountedTogether {
  /** Keys that were counted for the first time, joined; `null` if there are none. */
  readonly fresh: string | null
  /** `key:n:known` of the other keys, separated by commas. */
  readonly others: string | null
}

const FIRST: Counted = { attempt: 1, isKnown: false }

interface Counting {
  readonly scope: number
  readonly items: readonly StoredKey[]
  readonly token: string
  readonly keepMs: number
}

/**
 * Counts the first attempt of each key, committed by itself before the transaction of the claim begins. A key that
 * already has an attempt is neither counted nor returned: another transaction may hold it, or it has failed before and
 * must be claimed alone, if its backoff is over and its payload is the same. A key that a person has let run has no
 * attempts. The owner token makes the statement safe to send again: a claim counts once.
 *
 * The second statement undoes the count of keys that are done. It must not be part of the first: an owner that marks
 * during the first statement removes its own attempt, and our row would stay beside its marked row, as if that was torn
 * (records.ts). Every owner of a key has an attempt, so after ours is inserted nobody else marks the key.
 */
export function countFirst(tables: Tables, { scope, items, token, keepMs }: Counting): Script<CountedTogether> {
  const { attempt, inbox } = tables
  const keys = items.map(({ key }) => key)
  // mutant: first-attempt-not-kept
  return {
    text: `with counted as (
  insert into ${attempt} as a (scope, key, owner, n, keep_until, fp) ${rowsOf(scope, items, text(token), fromNow(keepMs))}
  on conflict (scope, key) ${COUNT} where (a.owner = excluded.owner or a.n = 0) and ${IS_FREE}
  ${RETURNED}
)
${TOGETHER};
delete from ${attempt} where owner = ${text(token)} and ctid = any (array(
  select a.ctid from ${rowsByKey(inbox, { scope, keys, columns: 'key' })} r
  cross join lateral (select ctid from ${attempt} where scope = ${scope} and key = r.key offset 0) as a))`,
  }
}

/**
 * Counts one more attempt for each key that nobody else holds, committed by itself. Meanwhile it holds each key with a
 * row of the inbox that it removes again, so that a claim that finds the key busy counts nothing. Waits for a
 * transaction that holds one of them (55P03 after `lock_timeout`). A key that is not returned has a record, or waits
 * for the end of its backoff, or was tried with another payload. Between this COMMIT and the claim another claim may
 * take the key: then the count is given back, unless that claim has counted too.
 */
export function countNext(tables: Tables, { scope, items, token, keepMs }: Counting): Script<CountedTogether> {
  const keys = items.map(({ key }) => key)
  return {
    text: `with held as (${insertKeys(tables, scope, items)} returning scope, key, fp),
counted as (
  insert into ${tables.attempt} as a (scope, key, owner, n, keep_until, fp) select scope, key, ${text(token)}, 1, ${fromNow(keepMs)}, fp from held order by key
  on conflict (scope, key) ${COUNT} where ${IS_FREE}
  ${RETURNED}
)
${TOGETHER};
${removeHeld(tables, scope, keys).text}`,
  }
}

const COUNT = `do update set n = a.n + (a.owner <> excluded.owner)::int, owner = excluded.owner, fp = excluded.fp,
  not_before = null, cause = null, last_at = greatest(a.last_at, now()),
  keep_until = greatest(a.keep_until, excluded.keep_until)`

/** True if its backoff is over by the server's clock, and no other payload was tried with its ID. */
// mutant: pg-backoff-of-one-copy
const IS_FREE = `(a.not_before is null or a.not_before <= clock_timestamp())
  and (a.fp is null or excluded.fp is null or a.fp = excluded.fp)`

const RETURNED = `returning key, n, last_at = '${FOR_EVER}' as is_known`

const TOGETHER = `select encode(string_agg(key, '') filter (where n = 1 and not is_known), 'hex') as fresh,
  string_agg(encode(key, 'hex') || ':' || n || ':' || is_known::int, ',') filter (where n > 1 or is_known) as others
from counted`

/** The counts of the requested keys. */
export class Counts {
  readonly #fresh: AnsweredKeys
  readonly #others = new Map<string, Counted>()

  /** `asked`: the keys to count. */
  constructor([row]: readonly CountedTogether[], asked: readonly StoredKey[]) {
    this.#fresh = new AnsweredKeys(row?.fresh, asked)
    for (const other of row?.others?.split(',') ?? []) {
      const [key = '', n, known] = other.split(':')
      this.#others.set(key, { attempt: Number(n), isKnown: known === '1' })
    }
  }

  get size(): number {
    return this.#fresh.size + this.#others.size
  }

  /** `key` in hex; `undefined`: not counted. */
  of(key: string): Counted | undefined {
    return this.#others.get(key) ?? (this.#fresh.has(key) ? FIRST : undefined)
  }
}

function rowsOf(scope: number, items: readonly StoredKey[], owner: string, until: string): string {
  const [first, second] = items
  if (first !== undefined && second === undefined) {
    return `values (${scope}, ${bytes(first.key)}, ${owner}, 1, ${until}, ${first.fp === null ? 'null' : bytes(first.fp)})`
  }
  const [keys, fps] = [items.map(({ key }) => key), items.map(({ fp }) => fp)]
  return `select ${scope}, ${keyAt(keys)}, ${owner}, 1, ${until}, ${fpAt(fps)} from ${places(items)} order by 2`
}

/** Locks nothing. A key that is not returned was never tried, or has ended. */
export function readAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script<AttemptRow> {
  return {
    text: `select encode(key, 'hex') as key, n, encode(fp, 'hex') as fp, cause, ${epochMs('not_before')} as not_before,
  coalesce(ceil(extract(epoch from not_before - clock_timestamp()) * 1000), 0)::float8 as wait_ms,
  case when isfinite(last_at) then extract(epoch from clock_timestamp() - last_at)::float8 * 1000 else 'Infinity' end as age_ms
from ${attempt} where scope = ${scope} and key ${isAmong(keys)}`,
  }
}

interface Ended {
  readonly scope: number
  readonly keys: readonly string[]
  readonly token: string
}

/**
 * Gives the attempts of one claim back, in a transaction that holds their keys, or for a claim that was never granted.
 * If an attempt vanished beside a row that a handler has committed, that row would count as done. Locks the rows. Finds
 * none that were given back before, or counted again by a later claim: the owner token shows whose attempt the last one
 * is.
 */
export function refundAttempts({ attempt }: Tables, { scope, keys, token }: Ended): Script {
  const mine = `${areRowsOf(attempt, scope, keys)} and owner = ${text(token)}`
  return {
    text: `delete from ${attempt} where ${mine} and n <= 1 and last_at <> '${FOR_EVER}';
update ${attempt} set n = n - 1, owner = '' where ${mine}`,
  }
}

/**
 * The same after the transaction that held the keys is gone. Takes the keys again: waits for a backend that may still
 * be running (55P03 after `lock_timeout`), and gives nothing back for a key that has a record by now.
 */
export function refundLostAttempts(tables: Tables, { scope, keys, token }: Ended): Script {
  const items = keys.map((key) => ({ key, fp: null }))
  const mine = `a.scope = held.scope and a.key = held.key and a.owner = ${text(token)}` // mutant: pg-attempt-of-another-given-back
  return {
    text: `with held as (${insertKeys(tables, scope, items)} returning scope, key),
gone as (delete from ${tables.attempt} a using held where ${mine} and a.n <= 1 and a.last_at <> '${FOR_EVER}')
update ${tables.attempt} a set n = a.n - 1, owner = '' from held where ${mine} and (a.n > 1 or a.last_at = '${FOR_EVER}');
${removeHeld(tables, scope, keys).text}`,
  }
}

interface HoldingBack extends Ended {
  readonly delayMs: number
  readonly cause: string | undefined
}

/**
 * Writes the end of the backoff and the cause of a failed attempt. Locks the rows of attempts. Does not change a row
 * that a later claim has counted: the owner token shows whose attempt the last one is. It uses the current time of the
 * server, because the transaction began before its handlers.
 */
export function holdBack({ attempt }: Tables, { scope, keys, token, delayMs, cause }: HoldingBack): Script {
  const until = delayMs > 0 ? `clock_timestamp() + ${Math.ceil(delayMs)} * interval '1 ms'` : 'null'
  // mutant: pg-held-back-by-anyone
  return {
    text: `update ${attempt} set not_before = ${until}, cause = ${cause === undefined ? 'null' : text(cause)}
where ${areRowsOf(attempt, scope, keys)} and owner = ${text(token)}`,
  }
}

/**
 * Removes the attempts of marked keys, in the transaction of the mark and in the message of its COMMIT. To count
 * attempts of a key a claim must hold its inbox row, which this transaction holds, so it waits for nothing.
 */
export function forgetAttempts({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${attempt} where ${areRowsOf(attempt, scope, keys)}` }
}

/** The same for keys that a person decides about: a claim may be counting one that a person has let run before. */
export function forgetDecided({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${attempt} where scope = ${scope} and key ${isAmong(keys)}` }
}

/**
 * Restores all attempts of keys that a person has let run, in the transaction of the decision. A row without attempts
 * stays, and shows that the key is known: otherwise a message older than retention would look like one whose record was
 * removed.
 */
export function letRun({ attempt }: Tables, scope: number, keys: readonly string[]): Script {
  return {
    text: `insert into ${attempt} (scope, key, owner, n, last_at)
select ${scope}, decode(x, 'hex'), '', 0, '${FOR_EVER}' from unnest('{${keys.join(',')}}'::text[]) as x order by 2
on conflict (scope, key) do update set owner = '', n = 0, last_at = '${FOR_EVER}',
  fp = null, not_before = null, cause = null`,
  }
}
