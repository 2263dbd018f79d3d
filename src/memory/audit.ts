import { isAskedFor } from '../records/audit-filter.ts'
import type { AuditEntry } from '../ports/replay.ts'
import type { AuditPage, AuditQuery } from '../ports/store-admin.ts'

/** The decisions of people by scope, the oldest first. */
export class MemoryAudit {
  readonly #entries = new Map<string, AuditEntry[]>()
  #last = 0

  add(scope: string, entry: Omit<AuditEntry, 'id'>): void {
    const ofScope = this.#entries.get(scope) ?? []
    this.#entries.set(scope, ofScope)
    this.#last += 1
    ofScope.push({ id: String(this.#last), ...entry })
  }

  page(scope: string, query: AuditQuery): AuditPage {
    const { limit, after } = query
    const older = (this.#entries.get(scope) ?? [])
      .toReversed()
      .filter((entry) => isAskedFor(entry, query) && (after === undefined || +entry.id < +after))
    const entries = older.slice(0, limit)
    return { entries, next: older.length > limit ? entries.at(-1)?.id : undefined }
  }
}
