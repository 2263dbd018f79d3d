import type { EpochMs } from '../core/units.ts'
import type { KnownSince } from '../ports/store-admin.ts'
import { MemoryAudit } from './audit.ts'
import type { MemoryReplays } from './replays.ts'

/** What a store in memory keeps beside its records. */
export class MemoryHistory {
  readonly audit: MemoryAudit = new MemoryAudit()
  readonly replays: MemoryReplays = new Map()
  readonly #firstClaims = new Map<string, EpochMs>()

  claimed(scope: string, now: EpochMs): void {
    if (!this.#firstClaims.has(scope)) this.#firstClaims.set(scope, now)
  }

  knownSince(scope: string): KnownSince | undefined {
    const at = this.#firstClaims.get(scope)
    return at === undefined ? undefined : { at, because: 'the first claim of this consumer' }
  }
}
