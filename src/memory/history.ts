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

  /**
   * Notes a claim or an import.
   *
   * @param retentionMs - `undefined`: records have no end of their own
   */
  used(scope: string, now: EpochMs, retentionMs: DurationMs | undefined): void {
    const use = this.#uses.get(scope) ?? { first: now, retentions: new Map() }
    this.#uses.set(scope, use)
    if (retentionMs !== undefined) use.retentions.set(retentionMs, now)
  }

  knownSince(scope: string, now: EpochMs): KnownSince | undefined {
    const use = this.#uses.get(scope)
    return use && latestOf(sinceFirst(use.first), sinceKept(now, use.retentions))
  }
}
