import type { Key } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import { latestOf, sinceFirst, sinceKept } from '../records/known-since.ts'
import type { KnownSince } from '../ports/store-admin.ts'
import { MemoryAudit } from './audit.ts'
import type { MemoryReplays } from './replays.ts'

interface Use {
  readonly first: EpochMs
  readonly retentions: Map<DurationMs, EpochMs>
}

interface Used {
  readonly items: readonly { readonly key: Key }[]
  /** Those from before. A key that has one stays whose it is. */
  readonly records?: { has(key: Key): boolean }
  readonly now: EpochMs
  /** `undefined`: records have no end of their own. */
  readonly retentionMs: DurationMs | undefined
}

/** What a store in memory keeps beside its records. */
export class MemoryHistory {
  readonly audit: MemoryAudit = new MemoryAudit()
  readonly replays: MemoryReplays = new Map()
  readonly #uses = new Map<string, Use>()
  /** The scope that used the store first. Every key is its own that is not noted below: most stores have one scope. */
  #first: string | undefined
  /** Whose the keys of all other scopes are. */
  readonly #others = new Map<Key, string>()

  /** Notes a claim or an import, and whose the keys are. */
  used(scope: string, { items, records, now, retentionMs }: Used): void {
    this.#first ??= scope
    if (scope !== this.#first) this.#note(scope, items, records)
    const use = this.#uses.get(scope) ?? { first: now, retentions: new Map() }
    this.#uses.set(scope, use)
    if (retentionMs !== undefined) use.retentions.set(retentionMs, now)
  }

  /** The scope that has used a key first; `undefined`: no scope has used the store. */
  scopeOf(key: Key): string | undefined {
    return this.#others.get(key) ?? this.#first
  }

  /** Forgets whose the keys are that have no record any more. */
  forgetAllBut(records: { has(key: Key): boolean }): void {
    for (const key of this.#others.keys()) if (!records.has(key)) this.#others.delete(key)
  }

  knownSince(scope: string, now: EpochMs): KnownSince | undefined {
    const use = this.#uses.get(scope)
    return use && latestOf(sinceFirst(use.first), sinceKept(now, use.retentions))
  }

  #note(scope: string, items: Used['items'], records: Used['records']): void {
    for (const { key } of items) {
      if (!this.#others.has(key) && records?.has(key) !== true) this.#others.set(key, scope)
    }
  }
}
