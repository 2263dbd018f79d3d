import { FOR_EVER } from './let-run.ts'
import { bytes, text } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'
import { QUICKLY } from './transaction.ts'

export interface CountedRow {
  readonly key: string
  readonly n: number
  /** A person has let it run (let-run.ts). */
  readonly is_known: boolean
}

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
export function countAttempts({ attempt }: Tables, { scope, keys, token, alone }: Counting): Script<CountedRow> {
  const count = `do update set n = a.n + (a.owner <> excluded.owner)::int, owner = excluded.owner,
  last_at = greatest(a.last_at, now())`
  const again = alone ? count : `${count} where a.owner = excluded.owner or a.n = 0`
  return {
    text: `select ${QUICKLY};
insert into ${attempt} as a (scope, key, owner, n) ${rowsOf(scope, keys, text(token))}
on conflict (scope, key) ${again}
returning encode(key, 'hex') as key, n, last_at = '${FOR_EVER}' as is_known`,
  }
}

function rowsOf(scope: number, keys: readonly string[], owner: string): string {
  const [first, second] = keys
  if (first !== undefined && second === undefined) return `values (${scope}, ${bytes(first)}, ${owner}, 1)`
  return `select ${scope}, decode(x, 'hex'), ${owner}, 1 from unnest('{${keys.join(',')}}'::text[]) as x order by 2`
}
