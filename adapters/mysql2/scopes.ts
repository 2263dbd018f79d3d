import { ConfigError, findScopeRow, formerScope, StoreError } from '../../src/index.ts'
import type { Sessions } from './sessions.ts'
import { isConflictOfTransactions, isDuplicateKey } from './sql-errors.ts'
import { fromHex } from './sql/literals.ts'
import { findScopes, registerScope, shareScope } from './sql/register-scope.ts'
import type { Tables } from './sql/tables.ts'

/** Each is registered by somebody after this many collisions with others that register theirs. */
const TRIES = 20

/** IDs of scopes, looked up once. They are never changed and never removed. */
export class Scopes {
  readonly #sessions: Sessions
  readonly #ids = new Map<string, Promise<number>>()

  constructor(sessions: Sessions) {
    this.#sessions = sessions
  }

  idOf(tables: Tables, name: string): Promise<number> {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const id = this.#look(tables, name)
    this.#ids.set(name, id)
    id.catch(() => this.#ids.delete(name))
    return id
  }

  /** @throws ConfigError where an earlier version has left the row of another scope */
  async #look(tables: Tables, scope: string): Promise<number> {
    for (let round = 0; round < TRIES; round++) {
      const rows = await this.#sessions.committed(findScopes(tables, [scope, formerScope(scope)]))
      const found = findScopeRow(
        scope,
        rows.map(({ id, name, shared }) => {
          return { id, name: fromHex(name), isShared: shared === null ? null : Number(shared) === 1 }
        }),
      )
      switch (found.step) {
        case 'use':
          return found.id
        case 'refuse':
          throw new ConfigError([found.problem])
        case 'share':
          await this.#sessions.committed(shareScope(tables, found.id))
          return found.id
        case 'register':
          await this.#sessions.committed(registerScope(tables, scope)).catch((error: unknown) => {
            if (!(isDuplicateKey(error) || isConflictOfTransactions(error))) throw error
          })
      }
    }
    throw new StoreError('STORE_UNREACHABLE', `the scope ${JSON.stringify(scope)} could not be registered`)
  }
}
