import { ConfigError, Losses, RETENTION_NOTED_MS, StoreError, type DurationMs } from '../../src/internal.ts'
import { despiteConflicts } from './despite-conflicts.ts'
import { answered, type SqlErrors } from './errors.ts'
import type { HistoryPlace } from './history/statements.ts'
import type { Script, Sessions } from './session.ts'

/** Scopes, and scopes with a retention, that are remembered: each takes a few KB, and calls may bring ever new ones. */
const MOST_REMEMBERED = 1_000

/** Limit of collisions with other processes that register scopes at the same time. */
const TRIES = 50

interface Parts<Place extends HistoryPlace, Tables> {
  readonly sessions: Sessions
  /** Checks the server and brings the tables up to date. */
  readonly prepare: () => Promise<Tables>
  /** `undefined`: only `prepare` finds them. */
  readonly tables?: Tables
  readonly at: (tables: Tables, scope: number, losses: Losses) => Place
  readonly scopes: ScopeStatements<Tables>
}

export interface ScopeRow {
  readonly id: number
}

/** Each is committed by itself. */
interface ScopeStatements<Tables> {
  /** Locks nothing. No row: the name is not registered, or its registration is not committed yet. */
  readonly find: (tables: Tables, name: string) => Script<ScopeRow>
  /** May find that another process was quicker, and do nothing or fail. */
  readonly register: (tables: Tables, name: string) => Script
  /** Runs once for each scope, when it is looked up. */
  readonly begin?: ((tables: Tables, id: number) => Script) | undefined
}

interface Used<Place> {
  readonly noted: Promise<Place>
  /** `performance.now()` at which it is noted again. */
  readonly until: number
}

/** The tables of a store, brought up to date once, and its scopes, whose IDs are looked up once and never change. */
export class Database<Place extends HistoryPlace, Tables> {
  readonly #parts: Parts<Place, Tables>
  readonly #places = new Map<string, Promise<Place>>()
  readonly #used = new Map<string, Used<Place>>()
  readonly #losses = new Losses()
  #opened: Promise<Tables> | undefined

  constructor(parts: Parts<Place, Tables>) {
    this.#parts = parts
  }

  /** How many scopes are remembered. */
  get remembered(): number {
    return Math.max(this.#places.size, this.#used.size)
  }

  open(): Promise<Tables> {
    const { sessions, prepare } = this.#parts
    this.#opened ??= answered(sessions.errors, 'open', prepare).catch((error: unknown) => {
      this.#opened = undefined
      throw asConfig(sessions.errors, error)
    })
    return this.#opened
  }

  placeOf(scope: string): Promise<Place> {
    const known = this.#places.get(scope)
    if (known !== undefined) return known
    const place = this.#find(scope)
    remember(this.#places, scope, place)
    place.catch(() => this.#places.delete(scope))
    return place
  }

  /** As `placeOf`, for claims and imports: notes the scope and the retention, before the first one and then twice a minute. */
  placeOfUse(scope: string, retentionMs: DurationMs): Promise<Place> {
    const name = `${retentionMs} ${scope}`
    const known = this.#used.get(name)
    if (known !== undefined && performance.now() < known.until) return known.noted
    const used = { noted: this.#note(scope, retentionMs), until: performance.now() + RETENTION_NOTED_MS / 2 }
    remember(this.#used, name, used)
    used.noted.catch(() => this.#used.delete(name))
    return used.noted
  }

  async #note(scope: string, retentionMs: DurationMs): Promise<Place> {
    const place = await this.placeOf(scope)
    const { sessions } = this.#parts
    const note = place.history.noteUse({ retentionMs, forMs: RETENTION_NOTED_MS })
    await despiteConflicts(() => sessions.committed(note), sessions.errors.mayPassAgain)
    return place
  }

  async #find(scope: string): Promise<Place> {
    const { sessions, at, scopes } = this.#parts
    const tables = this.#parts.tables ?? (await this.open())
    const id = await this.#idOf(tables, scope)
    if (scopes.begin !== undefined) await sessions.committed(scopes.begin(tables, id))
    return at(tables, id, this.#losses)
  }

  async #idOf(tables: Tables, name: string): Promise<number> {
    const { sessions, scopes } = this.#parts
    for (let round = 0; round < TRIES; round++) {
      const [row] = await sessions.committed(scopes.find(tables, name))
      if (row !== undefined) return row.id
      await sessions.committed(scopes.register(tables, name)).catch((error: unknown) => {
        if (!sessions.errors.mayPassAgain(error)) throw error
      })
    }
    throw new StoreError('STORE_UNREACHABLE', `the scope ${JSON.stringify(name)} could not be registered`)
  }
}

/** Forgets the oldest. What is forgotten is looked up again. */
function remember<T>(entries: Map<string, T>, name: string, entry: T): void {
  entries.delete(name)
  entries.set(name, entry)
  if (entries.size <= MOST_REMEMBERED) return
  for (const oldest of entries.keys()) return void entries.delete(oldest)
}

/** At a start, what only a person can mend is no outage: it is told as a wrong configuration, and not waited for. */
function asConfig(errors: SqlErrors, error: unknown): unknown {
  if (!(error instanceof StoreError) || errors.advice(error.cause) === undefined) return error
  return new ConfigError([error.message], 'CONFIG_INVALID', { cause: error.cause })
}
