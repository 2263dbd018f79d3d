import { isAmong } from './literals.ts'
import type { Script } from './statement.ts'
import type { Tables } from './tables.ts'

/**
 * Takes rows out of the inbox that this transaction holds: those that it has inserted, which nobody else sees, or has locked.
 * Nothing is waited for; all of them are found.
 */
export function removeKeys({ inbox }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${inbox} where scope = ${scope} and key ${isAmong(keys)}` }
}

/** As `removeKeys`, only those that this very transaction has inserted: others have a record. */
export function removeHeld(tables: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `${removeKeys(tables, scope, keys).text} and xmin = pg_current_xact_id_if_assigned()::xid` }
}
