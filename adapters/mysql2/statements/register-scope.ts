import type { ScopeRow } from '../../sql/database.ts'
import { text } from './literals.ts'
import type { Script } from './script.ts'
import type { Tables } from './tables.ts'

/** Locks nothing. No row: the name is not registered, or its registration is not committed yet. */
export function findScope({ scope }: Tables, name: string): Script<ScopeRow> {
  return { statements: [`select id from ${scope} where hash = unhex(sha2(${text(name)}, 256))`] }
}

/**
 * Waits for a transaction that inserts the same name, and fails with 1062 after its commit. That uses up an ID, which
 * does no harm.
 */
export function registerScope({ scope }: Tables, name: string): Script {
  return {
    statements: [`insert into ${scope} (hash, name) values (unhex(sha2(${text(name)}, 256)), ${text(name)})`],
  }
}
