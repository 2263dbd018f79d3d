import { inHex, text } from './literals.ts'
import type { Script } from './script.ts'
import type { Tables } from './tables.ts'

/** The name is in hex. */
export interface NamedScope {
  readonly id: number
  readonly name: string
  readonly shared: number | string | null
}

/** Locks nothing. No row: none of the names is registered, or not yet committed by whoever registers it now. */
export function findScopes({ scope }: Tables, names: readonly string[]): Script<NamedScope> {
  const hashes = names.map((name) => `unhex(sha2(${text(name)}, 256))`)
  return {
    statements: [`select id, ${inHex('name')} as name, shared from ${scope} where hash in (${hashes.join(', ')})`],
  }
}

/** Locks nothing. One row where the scope is shared, and none where it is not. */
export function findShared({ scope }: Tables, id: number): Script<Pick<NamedScope, 'id' | 'name'>> {
  return { statements: [`select id, ${inHex('name')} as name from ${scope} where id = ${id} and shared`] }
}

export function shareScope({ scope }: Tables, id: number): Script {
  return { statements: [`update ${scope} set shared = true where id = ${id}`] }
}

/** Waits for whoever inserts the same name, and fails with 1062 once that is committed. A number is burnt then, no more. */
export function registerScope({ scope }: Tables, name: string): Script {
  return {
    statements: [
      `insert into ${scope} (hash, name, shared) values (unhex(sha2(${text(name)}, 256)), ${text(name)}, false)`,
    ],
  }
}
