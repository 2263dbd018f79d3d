import { bytes } from './literals.ts'
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
  /** ID of the transaction, as the row's `xmin` tells it to whoever reads the row later. */
  readonly transaction: string
}

/**
 * Inserts a row for each key and locks it until the transaction ends. Waits for a transaction that has inserted the same
 * key and is still open (55P03 after `lock_timeout`): if that rolls back the key is returned, if it commits it is not. A
 * key that is not returned therefore has a committed record, never one in progress. In the order of keys, so that two
 * batches never wait for each other.
 */
export function claimKeys({ inbox }: Tables, scope: number, items: readonly StoredKey[]): Script<ClaimedRow> {
  return {
    text: `insert into ${inbox} (scope, key, fp) ${rowsOf(scope, items)}
on conflict do nothing
returning encode(key, 'hex') as key, pg_current_xact_id()::xid::text as transaction`,
  }
}

export interface ClaimedTogether {
  /** In hex, with commas; `null`: none. */
  readonly keys: string | null
  readonly transaction: string | null
}

/** `claimKeys`, told in one row: hundreds of rows cost client and server more than what is in them. */
export function claimTogether(tables: Tables, scope: number, items: readonly StoredKey[]): Script<ClaimedTogether> {
  return {
    text: `with claimed as (${claimKeys(tables, scope, items).text})
select string_agg(key, ',') as keys, min(transaction) as transaction from claimed`,
  }
}

/** A row of one is planned much faster than an array. */
function rowsOf(scope: number, items: readonly StoredKey[]): string {
  const [first, second] = items
  if (first !== undefined && second === undefined) {
    return `values (${scope}, ${bytes(first.key)}, ${first.fp === null ? 'null' : bytes(first.fp)})`
  }
  const keys = items.map(({ key }) => key).join(',')
  const fps = items.map(({ fp }) => fp ?? 'null').join(',')
  return `select ${scope}, decode(x.key, 'hex'), decode(x.fp, 'hex')
from unnest('{${keys}}'::text[], '{${fps}}'::text[]) as x (key, fp)
order by 2`
}
