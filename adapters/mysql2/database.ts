import { Losses, type CheckFinding, type DurationMs } from '../../src/spi.ts'
import { checkEngines } from './schema/check-engines.ts'
import { checkKeys } from './schema/check-keys.ts'
import { checkServer } from './check-server.ts'
import { checkup } from './checkup.ts'
import { migrate } from './schema/migrate.ts'
import type { ResolvedMysql } from './options.ts'
import type { Place } from './place.ts'
import { Scopes } from './scopes.ts'
import { Sessions } from './sessions/sessions.ts'
import { answered } from './sql-errors.ts'
import { tablesIn, type Tables } from './statements/tables.ts'

/** The tables of a store, located and brought up to date once. */
export class Database {
  readonly sessions: Sessions
  readonly lockTimeoutMs: DurationMs
  readonly #options: ResolvedMysql
  readonly #scopes: Scopes
  readonly #losses = new Losses()
  #opened: Promise<Tables> | undefined

  constructor(options: ResolvedMysql) {
    const { pool, max, limits } = options
    this.#options = options
    this.lockTimeoutMs = limits.lockTimeoutMs
    this.sessions = new Sessions(pool, max, limits)
    this.#scopes = new Scopes(this.sessions)
  }

  checkup(strategy: 'inbox' | 'lease'): Promise<readonly CheckFinding[]> {
    return answered('checkup', () => checkup(this.sessions, strategy, this.#options.database))
  }

  async open(): Promise<void> {
    await this.#open()
  }

  async placeOf(scope: string): Promise<Place> {
    const tables = await this.#open()
    return { sessions: this.sessions, tables, scope: await this.#scopes.idOf(tables, scope), losses: this.#losses }
  }

  #open(): Promise<Tables> {
    this.#opened ??= answered('open', () => this.#prepare()).catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #prepare(): Promise<Tables> {
    const { kind, database } = await checkServer(this.sessions, this.#options.database)
    this.sessions.asOne = kind === 'mariadb'
    const tables = tablesIn(database)
    await migrate(this.sessions, tables, this.#options.migrate)
    await checkEngines(this.sessions, database)
    await checkKeys(this.sessions, database)
    return tables
  }
}
