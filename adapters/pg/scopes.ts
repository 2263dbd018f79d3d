import { StoreError } from '../../src/index.ts'
import type { Flushing, Sessions } from './session.ts'
import { announceTicker, findScope, registerScope } from './sql/register-scope.ts'
import type { Tables } from './sql/tables.ts'

/** Each is registered by somebody after this many collisions with others that register theirs. */
const TRIES = 50

/** IDs of scopes, looked up once. They are never changed and never removed. */
export class Scopes {
  readonly #sessions: Sessions
  readonly #tables: Tables
  readonly #flushing: Flushing
  readonly #ids = new Map<string, Promise<number>>()

  constructor(sessions: Sessions, tables: Tables, flushing: Flushing) {
    this.#sessions = sessions
    this.#tables = tables
    this.#flushing = flushing
  }

  idOf(name: string): Promise<number> {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const id = this.#begin(name)
    this.#ids.set(name, id)
    id.catch(() => this.#ids.delete(name))
    return id
  }

  /** Before anything of the scope is marked. */
  async #begin(name: string): Promise<number> {
    const id = await this.#look(name)
    if (this.#flushing === 'late') await this.#sessions.committed(announceTicker(this.#tables, id))
    return id
  }

  async #look(name: string): Promise<number> {
    for (let round = 0; round < TRIES; round++) {
      for (const statement of [findScope(this.#tables, name), registerScope(this.#tables, name)]) {
        const [row] = await this.#sessions.committed(statement)
        if (row !== undefined) return row.id
      }
    }
    throw new StoreError('STORE_UNREACHABLE', `the scope ${JSON.stringify(name)} could not be registered`)
  }
}
