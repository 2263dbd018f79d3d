import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'

export interface ScopeRow {
  readonly id: number
}

/** Locks nothing. No row: the scope is not registered, or not yet committed by whoever registers it now. */
export function findScope({ scope }: Tables, name: string): Statement<ScopeRow> {
  return { text: `select id from ${scope} where name = $1`, values: [name] }
}

/**
 * Registers a scope under the next ID, committed by itself. Waits for whoever inserts the same ID or name. No row: either
 * was taken meanwhile; look for the name again. (A sequence would burn a smallint on every conflict.)
 */
export function registerScope({ scope }: Tables, name: string): Statement<ScopeRow> {
  return {
    text: `insert into ${scope} (id, name) select coalesce(max(id), 0) + 1, $1 from ${scope} on conflict do nothing returning id`,
    values: [name],
  }
}
