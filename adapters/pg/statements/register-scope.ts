import type { ScopeRow } from '../../sql/database.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'
import { DURABLY } from './transaction.ts'

/** Locks nothing. No row: the name is not registered, or its registration is not committed yet. */
export function findScope({ scope }: Tables, name: string): Statement<ScopeRow> {
  return { text: `select id from ${scope} where name = $1`, values: [name] }
}

/** Announces, before the first of them, that marks of the scope are flushed late. Committed by itself, durably. */
export function announceTicker({ scope }: Tables, id: number): Statement {
  return {
    text: `with limits as materialized (select ${DURABLY})
update ${scope} set flush_ticker = true from limits where id = $1 and not flush_ticker`,
    values: [id],
  }
}

/**
 * Registers a scope under the next ID, committed by itself. Waits for a transaction that inserts the same ID or name.
 * No row: one of them was just taken; look for the name again. (A sequence would burn a smallint on every conflict.)
 */
export function registerScope({ scope }: Tables, name: string): Statement<ScopeRow> {
  return {
    text: `insert into ${scope} (id, name) select coalesce(max(id), 0) + 1, $1 from ${scope} on conflict do nothing returning id`,
    values: [name],
  }
}
