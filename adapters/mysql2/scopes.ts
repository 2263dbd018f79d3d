import { ConfigError, findScopeRow, formerScope, StoreError } from '../../src/spi.ts'
import type { Sessions } from './sessions/sessions.ts'
import { isConflictOfTransactions, isDuplicateKey } from './sql-errors.ts'
import { fromHex } from './statements/literals.ts'
import { findScopes, registerScope, shareScope } from './statements/register-scope.ts'
import type { Tables } from './statements/tables.ts'

/** Limit of collisions with other processes that register scopes at the same time. */
const TRIES = 20

/** IDs of scopes, looked up once. They are never changed or removed. */
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

  /** @throws ConfigError if the row belongs to another scope, from an earlier version */
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
