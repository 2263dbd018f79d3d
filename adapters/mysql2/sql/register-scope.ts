import { text } from './literals.ts'
import type { Script } from './script.ts'
import type { Tables } from './tables.ts'

export interface ScopeRow {
  readonly id: number
}

/** Locks nothing. No row: the scope is not registered, or not yet committed by whoever registers it now. */
export function findScope({ scope }: Tables, name: string): Script<ScopeRow> {
  return { statements: [`select id from ${scope} where hash = unhex(sha2(${text(name)}, 256))`] }
}

/** Waits for whoever inserts the same name, and fails with 1062 once that is committed. A number is burnt then, no more. */
export function registerScope({ scope }: Tables, name: string): Script {
  return {
    statements: [`insert into ${scope} (hash, name) values (unhex(sha2(${text(name)}, 256)), ${text(name)})`],
  }
}
