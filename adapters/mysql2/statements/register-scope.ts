import { inHex, text } from './literals.ts'
import type { Script } from './script.ts'
import type { Tables } from './tables.ts'

/** The name is in hex. */
export interface NamedScope {
  readonly id: number
  readonly name: string
  readonly shared: number | string | null
}

/** Locks nothing. No row: none of the names is registered, or its registration is not committed yet. */
export function findScopes({ scope }: Tables, names: readonly string[]): Script<NamedScope> {
  const hashes = names.map((name) => `unhex(sha2(${text(name)}, 256))`)
  return {
    statements: [`select id, ${inHex('name')} as name, shared from ${scope} where hash in (${hashes.join(', ')})`],
  }
}

/** Locks nothing. One row if the scope is shared, none otherwise. */
export function findShared({ scope }: Tables, id: number): Script<Pick<NamedScope, 'id' | 'name'>> {
  return { statements: [`select id, ${inHex('name')} as name from ${scope} where id = ${id} and shared`] }
}

/**
 * Locks nothing. A row for each shared scope. Fails if the table does not exist, or is that of an earlier version.
 * `database`: `undefined` is the default database of the connection.
 */
export function findAllShared(database: string | undefined): string {
  const table = `${database === undefined ? '' : `\`${database}\`.`}\`consume_once_scope\``
  return `select id, ${inHex('name')} as name from ${table} where shared order by id`
}

export function shareScope({ scope }: Tables, id: number): Script {
  return { statements: [`update ${scope} set shared = true where id = ${id}`] }
}

/**
 * Waits for a transaction that inserts the same name, and fails with 1062 after its commit. That uses up an ID, which
 * does no harm.
 */
export function registerScope({ scope }: Tables, name: string): Script {
  return {
    statements: [
      `insert into ${scope} (hash, name, shared) values (unhex(sha2(${text(name)}, 256)), ${text(name)}, false)`,
    ],
  }
}
