import type { RetentionsRow } from '../../sql/inbox/statements.ts'
import type { ScopeRow } from '../../../src/spi.ts'
import type { Statement } from './statement.ts'
import type { Tables } from './tables.ts'
import { DURABLY } from './transaction.ts'

/** Locks nothing. No row: none of the names is registered, or its registration is not committed yet. */
export function findScopes({ scope }: Tables, names: readonly string[]): Statement<ScopeRow> {
  return { text: `select id, name, shared as "isShared" from ${scope} where name = any ($1)`, values: [names] }
}

/** Locks nothing. One row if the scope is shared, none otherwise. */
export function findShared({ scope }: Tables, id: number): Statement<Pick<ScopeRow, 'id' | 'name'>> {
  return { text: `select id, name from ${scope} where id = $1 and shared`, values: [id] }
}

/** Locks nothing. A row for each shared scope. Fails if the table does not exist, or is that of an earlier version. */
export function findAllShared({ scope }: Tables): Statement<Pick<ScopeRow, 'id' | 'name'>> {
  return { text: `select id, name from ${scope} where shared order by id`, values: [] }
}

/** Committed by itself, durably. */
export function shareScope({ scope }: Tables, id: number): Statement {
  return {
    text: `with limits as materialized (select ${DURABLY})
update ${scope} set shared = true from limits where id = $1 and shared is distinct from true`,
    values: [id],
  }
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
export function registerScope({ scope }: Tables, name: string): Statement<Pick<ScopeRow, 'id'>> {
  return {
    text: `insert into ${scope} (id, name, shared) select coalesce(max(id), 0) + 1, $1, false from ${scope} on conflict do nothing returning id`,
    values: [name],
  }
}

/** Locks nothing; one row. */
export function readRetentions({ scope }: Tables, id: number): Statement<RetentionsRow> {
  return { text: `select retentions::text from ${scope} where id = $1`, values: [id] }
}
