import type { StoredKey } from '../../../sql/bytes.ts'
import { bytes, keyAt, places } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

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

export interface ClaimedTogether {
  /** The keys joined; `null` if there are none. */
  readonly keys: string | null
  /** Transaction ID, the `xmin` that later readers of the rows see; `null` if it has written nothing. */
  readonly transaction: string | null
}

/** `claimKeys` with one row as its result: hundreds of rows cost client and server more than their contents. */
export function claimTogether(tables: Tables, scope: number, items: readonly StoredKey[]): Script<ClaimedTogether> {
  return {
    text: `with claimed as (${insertKeys(tables, scope, items)} returning key)
select encode(string_agg(key, ''), 'hex') as keys, pg_current_xact_id_if_assigned()::xid::text as transaction
from claimed`,
  }
}

/** Fails without the primary key of the table (42P10): every message would run twice. */
export function insertKeys({ inbox }: Tables, scope: number, items: readonly StoredKey[]): string {
  return `insert into ${inbox} (scope, key, fp) ${rowsOf(scope, items)}\non conflict (scope, key) do nothing`
}

/** A single row is planned much faster than an array. */
function rowsOf(scope: number, items: readonly StoredKey[]): string {
  const [first, second] = items
  if (first !== undefined && second === undefined) {
    return `values (${scope}, ${bytes(first.key)}, ${first.fp === null ? 'null' : bytes(first.fp)})`
  }
  return `select ${scope}, ${keyAt(items.map(({ key }) => key))}, ${fpAt(items.map(({ fp }) => fp))}
from ${places(items)}
order by 2`
}

/** As `keyAt`, for digests: all present, or some `null`. */
export function fpAt(fps: readonly (string | null)[]): string {
  const given = fps.filter((fp) => fp !== null)
  if (given.length === fps.length) return keyAt(given)
  return `decode(('{${fps.map((fp) => fp ?? 'null').join(',')}}'::text[])[place + 1], 'hex')`
}
