import type { ScopeRow } from '../../../src/spi.ts'
import type { RetentionsRow } from '../../sql/inbox/statements.ts'
import { fromHex, inHex, text } from './literals.ts'
import type { Script } from './script.ts'
import type { Tables } from './tables.ts'
import { COMMIT } from './transaction.ts'

interface NamedScope {
  readonly id: number
  /** In hex. */
  readonly name: string
  readonly shared?: number | string | null
}

/** Locks nothing. No row: none of the names is registered, or its registration is not committed yet. */
export function findScopes({ scope }: Tables, names: readonly string[]): Script<ScopeRow> {
  const hashes = names.map((name) => `unhex(sha2(${text(name)}, 256))`)
  return {
    statements: [`select id, ${inHex('name')} as name, shared from ${scope} where hash in (${hashes.join(', ')})`],
    read: ({ id, name, shared }: NamedScope) => {
      return { id, name: fromHex(name), isShared: shared == null ? null : Number(shared) === 1 }
    },
  }
}

/** Locks nothing. One row if the scope is shared, none otherwise. */
export function findShared({ scope }: Tables, id: number): Script<Pick<ScopeRow, 'id' | 'name'>> {
  return {
    statements: [`select id, ${inHex('name')} as name from ${scope} where id = ${id} and shared`],
    read: (row: NamedScope) => ({ id: row.id, name: fromHex(row.name) }),
  }
}

/** Locks nothing. A row for each shared scope. Fails if the table does not exist, or is that of an earlier version. */
export function findAllShared({ scope }: Tables): Script<Pick<ScopeRow, 'id' | 'name'>> {
  return {
    statements: [`select id, ${inHex('name')} as name from ${scope} where shared order by id`, COMMIT],
    read: (row: NamedScope) => ({ id: row.id, name: fromHex(row.name) }),
  }
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

/** Locks nothing; one row. */
export function readRetentions({ scope }: Tables, id: number): Script<RetentionsRow> {
  return { statements: [`select retentions from ${scope} where id = ${id}`] }
}
