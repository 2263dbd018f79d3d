import type { Key } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import { latestOf, sinceFirst, sinceKept } from '../people/known-since.ts'
import type { KnownSince } from '../ports/store-admin.ts'
import { MemoryAudit } from './audit.ts'
import type { MemoryReplays } from './replays.ts'

interface Use {
  readonly first: EpochMs
  readonly retentions: Map<DurationMs, EpochMs>
}

/** What a store in memory keeps beside its records. */
export class MemoryHistory {
  readonly audit: MemoryAudit = new MemoryAudit()
  readonly replays: MemoryReplays = new Map()
  readonly #uses = new Map<string, Use>()
  readonly #scopes = new Map<Key, string>()

  /**
   * Notes a claim or an import, and whose the keys are.
   *
   * @param retentionMs - `undefined`: records have no end of their own
   */
  used(
    scope: string,
    {
      keys,
      now,
      retentionMs,
    }: { readonly keys: readonly Key[]; readonly now: EpochMs; readonly retentionMs: DurationMs | undefined },
  ): void {
    for (const key of keys) if (!this.#scopes.has(key)) this.#scopes.set(key, scope)
    const use = this.#uses.get(scope) ?? { first: now, retentions: new Map() }
    this.#uses.set(scope, use)
    if (retentionMs !== undefined) use.retentions.set(retentionMs, now)
  }

  /** The scope that has used a key first; `undefined`: its record was put there from outside. */
  scopeOf(key: Key): string | undefined {
    return this.#scopes.get(key)
  }

  /** Forgets whose the keys are that have no record any more. */
  forgetAllBut(records: { has(key: Key): boolean }): void {
    for (const key of this.#scopes.keys()) if (!records.has(key)) this.#scopes.delete(key)
  }

  knownSince(scope: string, now: EpochMs): KnownSince | undefined {
    const use = this.#uses.get(scope)
    return use && latestOf(sinceFirst(use.first), sinceKept(now, use.retentions))
  }
}
