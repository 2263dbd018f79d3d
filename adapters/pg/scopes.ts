import { ConfigError, findScopeRow, formerScope, mayBeAnothers, StoreError, type Strategy } from '../../src/spi.ts'
import type { Flushing, Sessions } from './sessions/session.ts'
import { announceTicker, findScopes, registerScope, shareScope } from './statements/register-scope.ts'
import type { Tables } from './statements/tables.ts'

/** Limit of collisions with other processes that register scopes at the same time. */
const TRIES = 50

interface ScopesOf {
  readonly flushing: Flushing
  readonly strategy: Strategy
}

/** IDs of scopes, looked up once. They are never changed or removed. */
export class Scopes {
  readonly #sessions: Sessions
  readonly #tables: Tables
  readonly #flushing: Flushing
  readonly #strategy: Strategy
  readonly #ids = new Map<string, Promise<number>>()

  constructor(sessions: Sessions, tables: Tables, { flushing, strategy }: ScopesOf) {
    this.#sessions = sessions
    this.#tables = tables
    this.#flushing = flushing
    this.#strategy = strategy
  }

  idOf(name: string): Promise<number> {
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const id = this.#begin(name)
    this.#ids.set(name, id)
    id.catch(() => this.#ids.delete(name))
    return id
  }

  /** Before the first mark of the scope. */
  async #begin(name: string): Promise<number> {
    const id = await this.#look(name)
    if (this.#flushing === 'late') await this.#sessions.committed(announceTicker(this.#tables, id))
    return id
  }

  /** @throws ConfigError if the row belongs, or may belong, to another scope, from an earlier version */
  async #look(name: string): Promise<number> {
    for (let round = 0; round < TRIES; round++) {
      const rows = await this.#sessions.committed(findScopes(this.#tables, [name, formerScope(name)]))
      const found = findScopeRow(name, rows)
      switch (found.step) {
        case 'use':
          return found.id
        case 'refuse':
          throw new ConfigError([found.problem])
        case 'share':
          if (this.#strategy === 'offsets') throw new ConfigError([mayBeAnothers(name, found)])
          await this.#sessions.committed(shareScope(this.#tables, found.id))
          return found.id
        case 'register': {
          const [row] = await this.#sessions.committed(registerScope(this.#tables, name))
          if (row !== undefined) return row.id
        }
      }
    }
    throw new StoreError('STORE_UNREACHABLE', `the scope ${JSON.stringify(name)} could not be registered`)
  }
}
