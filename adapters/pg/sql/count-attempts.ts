import { AnsweredKeys } from './answered-keys.ts'
import { FOR_EVER } from './let-run.ts'
import { bytes, keyAt, places, text } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'
import { QUICKLY } from './transaction.ts'

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
  readonly alone: boolean
}

/**
 * Counts an attempt for each key, committed by itself before the handler starts, so that a message that kills the process
 * is found out. Only for keys whose inbox row the caller holds: nobody else counts them meanwhile. A key is not returned
 * where it has an earlier attempt and the claim is not alone; it is not counted then. One that a person has let run has none. The owner token makes the statement
 * safe to send again: a claim counts once.
 */
export function countAttempts({ attempt }: Tables, { scope, keys, token, alone }: Counting): Script<CountedTogether> {
  const count = `do update set n = a.n + (a.owner <> excluded.owner)::int, owner = excluded.owner,
  last_at = greatest(a.last_at, now())`
  const again = alone ? count : `${count} where a.owner = excluded.owner or a.n = 0`
  return {
    text: `select ${QUICKLY};
with counted as (
  insert into ${attempt} as a (scope, key, owner, n) ${rowsOf(scope, keys, text(token))}
  on conflict (scope, key) ${again}
  returning key, n, last_at = '${FOR_EVER}' as is_known
)
select encode(string_agg(key, '') filter (where n = 1 and not is_known), 'hex') as fresh,
  string_agg(encode(key, 'hex') || ':' || n || ':' || is_known::int, ',') filter (where n > 1 or is_known) as others
from counted`,
  }
}

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
