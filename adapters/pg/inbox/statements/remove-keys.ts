import { isAmong } from '../../statements/literals.ts'
import type { Script } from '../../statements/statement.ts'
import type { Tables } from '../../statements/tables.ts'

/**
 * Removes inbox rows that this transaction holds: it has inserted them, and nobody else sees them, or it has locked
 * them. Waits for nothing; finds all of them.
 */
export function removeKeys({ inbox }: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `delete from ${inbox} where scope = ${scope} and key ${isAmong(keys)}` }
}

/** As `removeKeys`, but only rows that this transaction has inserted: the others are records. */
export function removeHeld(tables: Tables, scope: number, keys: readonly string[]): Script {
  return { text: `${removeKeys(tables, scope, keys).text} and xmin = pg_current_xact_id_if_assigned()::xid` }
}
