import type { ScopeRow } from '../../../src/index.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'
import { DURABLY } from './transaction.ts'

/** Locks nothing. No row: none of the names is registered, or not yet committed by whoever registers it now. */
export function findScopes({ scope }: Tables, names: readonly string[]): Statement<ScopeRow> {
  return { text: `select id, name, shared as "isShared" from ${scope} where name = any ($1)`, values: [names] }
}

/** Locks nothing. One row where the scope is shared, and none where it is not. */
export function findShared({ scope }: Tables, id: number): Statement<Pick<ScopeRow, 'id' | 'name'>> {
  return { text: `select id, name from ${scope} where id = $1 and shared`, values: [id] }
}

/** Committed by itself, durably. */
export function shareScope({ scope }: Tables, id: number): Statement {
  return {
    text: `with limits as materialized (select ${DURABLY})
update ${scope} set shared = true from limits where id = $1 and shared is distinct from true`,
    values: [id],
  }
}

/** Says, before the first of them, that marks of the scope are flushed late; committed by itself, durably. */
export function announceTicker({ scope }: Tables, id: number): Statement {
  return {
    text: `with limits as materialized (select ${DURABLY})
update ${scope} set flush_ticker = true from limits where id = $1 and not flush_ticker`,
    values: [id],
  }
}

/**
 * Registers a scope under the next ID, committed by itself. Waits for whoever inserts the same ID or name. No row: either
 * was taken meanwhile; look for the name again. (A sequence would burn a smallint on every conflict.)
 */
export function registerScope({ scope }: Tables, name: string): Statement<Pick<ScopeRow, 'id'>> {
  return {
    text: `insert into ${scope} (id, name, shared) select coalesce(max(id), 0) + 1, $1, false from ${scope} on conflict do nothing returning id`,
    values: [name],
  }
}
