import { AnsweredKeys } from './answered-keys.ts'
import type { StoredKey } from '../../../sql/bytes.ts'
import type { Counted } from '../../../sql/inbox/statements.ts'
import { fpAt, insertKeys } from './claim-keys.ts'
import { FOR_EVER } from './let-run.ts'
import { bytes, isAmong, keyAt, places, text } from '../../statements/literals.ts'
import { removeHeld } from './remove-keys.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

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
}

/**
 * Counts the first attempt of each key, committed by itself before the transaction of the claim begins. A key that
 * already has an attempt is neither counted nor returned: another transaction may hold it, or it has failed before and
 * must be claimed alone, if its backoff is over and its payload is the same. A key that a person has let run has no
 * attempts. The owner token makes the statement safe to send again: a claim counts once.
 *
 * The second statement undoes the count of keys that are done. It must not be part of the first: an owner that marks
 * during the first statement removes its own attempt, and our row would stay beside its marked row, as if that was torn
 * (read-records.ts). Every owner of a key has an attempt, so after ours is inserted nobody else marks the key.
 */
export function countFirst(tables: Tables, { scope, items, token }: Counting): Script<CountedTogether> {
  const { attempt, inbox } = tables
  const keys = items.map(({ key }) => key)
  // mutant: first-attempt-not-kept
  return {
    text: `with counted as (
  insert into ${attempt} as a (scope, key, owner, n, fp) ${rowsOf(scope, items, text(token))}
  on conflict (scope, key) ${COUNT} where (a.owner = excluded.owner or a.n = 0) and ${IS_FREE}
  ${RETURNED}
)
${TOGETHER};
delete from ${attempt} a where a.scope = ${scope} and a.key ${isAmong(keys)} and a.owner = ${text(token)}
  and exists (select from ${inbox} i where i.scope = a.scope and i.key = a.key)`,
  }
}

/**
 * Counts one more attempt for each key that nobody else holds, committed by itself. Meanwhile it holds each key with a
 * row of the inbox that it removes again, so that a claim that finds the key busy counts nothing. Waits for a
 * transaction that holds one of them (55P03 after `lock_timeout`). A key that is not returned has a record, or waits
 * for the end of its backoff, or was tried with another payload. Between this COMMIT and the claim another claim may
 * take the key: then the count is given back, unless that claim has counted too.
 */
export function countNext(tables: Tables, { scope, items, token }: Counting): Script<CountedTogether> {
  const keys = items.map(({ key }) => key)
  return {
    text: `with held as (${insertKeys(tables, scope, items)} returning scope, key, fp),
counted as (
  insert into ${tables.attempt} as a (scope, key, owner, n, fp) select scope, key, ${text(token)}, 1, fp from held order by key
  on conflict (scope, key) ${COUNT} where ${IS_FREE}
  ${RETURNED}
)
${TOGETHER};
${removeHeld(tables, scope, keys).text}`,
  }
}

const COUNT = `do update set n = a.n + (a.owner <> excluded.owner)::int, owner = excluded.owner, fp = excluded.fp,
  not_before = null, cause = null, last_at = greatest(a.last_at, now())`

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

  /** `asked`: the number of keys to count. */
  constructor([row]: readonly CountedTogether[], asked: number) {
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

function rowsOf(scope: number, items: readonly StoredKey[], owner: string): string {
  const [first, second] = items
  if (first !== undefined && second === undefined) {
    return `values (${scope}, ${bytes(first.key)}, ${owner}, 1, ${first.fp === null ? 'null' : bytes(first.fp)})`
  }
  const [keys, fps] = [items.map(({ key }) => key), items.map(({ fp }) => fp)]
  return `select ${scope}, ${keyAt(keys)}, ${owner}, 1, ${fpAt(fps)} from ${places(items)} order by 2`
}
