import { StoreError } from '../../src/index.ts'
import type { Sessions } from './sessions.ts'
import { isConflictOfTransactions, isDuplicateKey } from './sql-errors.ts'
import { findScope, registerScope } from './sql/register-scope.ts'
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

  async #look(tables: Tables, name: string): Promise<number> {
    for (let round = 0; round < TRIES; round++) {
      const [found] = await this.#sessions.committed(findScope(tables, name))
      if (found !== undefined) return found.id
      await this.#sessions.committed(registerScope(tables, name)).catch((error: unknown) => {
        if (!(isDuplicateKey(error) || isConflictOfTransactions(error))) throw error
      })
    }
    throw new StoreError('STORE_UNREACHABLE', `the scope ${JSON.stringify(name)} could not be registered`)
  }
}
