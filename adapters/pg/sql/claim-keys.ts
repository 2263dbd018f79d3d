import { bytes, keyAt, places } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

/** In hex. */
export interface StoredKey {
  readonly key: string
  /** `null` where digests are not compared. */
  readonly fp: string | null
}

export interface ClaimedRow {
  readonly key: string
}

/**
 * Inserts a row for each key and locks it until the transaction ends. Waits for a transaction that has inserted the same
 * key and is still open (55P03 after `lock_timeout`): if that rolls back the key is returned, if it commits it is not. A
 * key that is not returned therefore has a committed record, never one in progress. In the order of keys, so that two
 * batches never wait for each other.
 */
export function claimKeys(tables: Tables, scope: number, items: readonly StoredKey[]): Script<ClaimedRow> {
  return { text: `${insertKeys(tables, scope, items)}\nreturning encode(key, 'hex') as key` }
}

export interface ClaimedTogether {
  /** One after the other; `null`: none. */
  readonly keys: string | null
  /** ID of the transaction, as the rows' `xmin` tells it to whoever reads them later; `null`: it has written nothing. */
  readonly transaction: string | null
}

/** `claimKeys`, told in one row: hundreds of rows cost client and server more than what is in them. */
export function claimTogether(tables: Tables, scope: number, items: readonly StoredKey[]): Script<ClaimedTogether> {
  return {
    text: `with claimed as (${insertKeys(tables, scope, items)} returning key)
select encode(string_agg(key, ''), 'hex') as keys, pg_current_xact_id_if_assigned()::xid::text as transaction
from claimed`,
  }
}

/** Without its primary key the table refuses it (42P10): every message would run twice. */
export function insertKeys({ inbox }: Tables, scope: number, items: readonly StoredKey[]): string {
  return `insert into ${inbox} (scope, key, fp) ${rowsOf(scope, items)}\non conflict (scope, key) do nothing`
}

/** A row of one is planned much faster than an array. */
function rowsOf(scope: number, items: readonly StoredKey[]): string {
  const [first, second] = items
  if (first !== undefined && second === undefined) {
    return `values (${scope}, ${bytes(first.key)}, ${first.fp === null ? 'null' : bytes(first.fp)})`
  }
  return `select ${scope}, ${keyAt(items.map(({ key }) => key))}, ${fpAt(items.map(({ fp }) => fp))}
from ${places(items)}
order by 2`
}

/** As `keyAt`, of digests; all are there, or some are `null`. */
export function fpAt(fps: readonly (string | null)[]): string {
  const given = fps.filter((fp) => fp !== null)
  if (given.length === fps.length) return keyAt(given)
  return `decode(('{${fps.map((fp) => fp ?? 'null').join(',')}}'::text[])[place + 1], 'hex')`
}
