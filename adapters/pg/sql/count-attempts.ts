import { AnsweredKeys } from './answered-keys.ts'
import { insertKeys } from './claim-keys.ts'
import { FOR_EVER } from './let-run.ts'
import { bytes, isAmong, keyAt, places, text } from './literals.ts'
import { removeHeld } from './remove-keys.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

/** All in one row: hundreds of rows cost client and server more than what is in them. */
export interface CountedTogether {
  /** Keys that were counted for the first time, one after the other; `null`: none. */
  readonly fresh: string | null
  /** `key:n:known` of the others, with commas. */
  readonly others: string | null
}

export interface Counted {
  readonly attempt: number
  /** A person has let it run (let-run.ts). */
  readonly isKnown: boolean
}

const FIRST: Counted = { attempt: 1, isKnown: false }

interface Counting {
  readonly scope: number
  readonly keys: readonly string[]
  readonly token: string
}

/**
 * Counts the first attempt of each key, committed by itself before the transaction of the claim begins. A key that has an
 * attempt already is neither counted nor returned: another transaction may hold it, or it has failed before and must be claimed
 * alone. One that a person has let run has none. The owner token makes the statement safe to send again: a claim counts once.
 *
 * The second statement takes back the count of what is done. It must not be part of the first: an owner that marks while the
 * first runs removes its own attempt, and a row of ours would stay beside the row that it has marked, as if it was torn
 * (read-records.ts). Whoever owns a key has an attempt, so once ours is inserted nobody else marks the key.
 */
export function countFirst(tables: Tables, { scope, keys, token }: Counting): Script<CountedTogether> {
  const { attempt, inbox } = tables
  return {
    text: `with counted as (
  insert into ${attempt} as a (scope, key, owner, n) ${rowsOf(scope, keys, text(token))}
  on conflict (scope, key) ${COUNT} where a.owner = excluded.owner or a.n = 0
  ${RETURNED}
)
${TOGETHER};
delete from ${attempt} a where a.scope = ${scope} and a.key ${isAmong(keys)} and a.owner = ${text(token)}
  and exists (select from ${inbox} i where i.scope = a.scope and i.key = a.key)`,
  }
}

/**
 * Counts one more attempt for each key that nobody else holds, committed by itself. Each key is held meanwhile by a row of the
 * inbox that is taken out again, so that a claim that finds the key busy counts nothing: waits for a transaction that holds one
 * of them (55P03 after `lock_timeout`). A key that is not returned has a record. Between this COMMIT and the claim another may
 * take the key: then the count is given back, unless that other has counted too.
 */
export function countNext(tables: Tables, { scope, keys, token }: Counting): Script<CountedTogether> {
  const items = keys.map((key) => ({ key, fp: null }))
  return {
    text: `with held as (${insertKeys(tables, scope, items)} returning scope, key),
counted as (
  insert into ${tables.attempt} as a (scope, key, owner, n) select scope, key, ${text(token)}, 1 from held order by key
  on conflict (scope, key) ${COUNT}
  ${RETURNED}
)
${TOGETHER};
${removeHeld(tables, scope, keys).text}`,
  }
}

const COUNT = `do update set n = a.n + (a.owner <> excluded.owner)::int, owner = excluded.owner,
  last_at = greatest(a.last_at, now())`

const RETURNED = `returning key, n, last_at = '${FOR_EVER}' as is_known`

const TOGETHER = `select encode(string_agg(key, '') filter (where n = 1 and not is_known), 'hex') as fresh,
  string_agg(encode(key, 'hex') || ':' || n || ':' || is_known::int, ',') filter (where n > 1 or is_known) as others
from counted`

/** What was counted of the keys that were asked for. */
export class Counts {
  readonly #fresh: AnsweredKeys
  readonly #others = new Map<string, Counted>()

  /** `asked`: how many keys there were to count. */
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

  /** In hex; `undefined`: not counted. */
  of(key: string): Counted | undefined {
    return this.#others.get(key) ?? (this.#fresh.has(key) ? FIRST : undefined)
  }
}

function rowsOf(scope: number, keys: readonly string[], owner: string): string {
  const [first, second] = keys
  if (first !== undefined && second === undefined) return `values (${scope}, ${bytes(first)}, ${owner}, 1)`
  return `select ${scope}, ${keyAt(keys)}, ${owner}, 1 from ${places(keys)} order by 2`
}
