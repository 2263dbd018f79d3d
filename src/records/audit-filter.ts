import type { AuditEntry } from '../ports/replay.ts'
import type { AuditQuery } from '../ports/store-admin.ts'

/** Whether a decision is one that was asked for, for stores that look through their decisions one by one. */
export function isAskedFor({ key, by, decision, at }: AuditEntry, query: AuditQuery): boolean {
  return (
    (query.key === undefined || key === query.key) &&
    (query.by === undefined || by === query.by) &&
    (query.decision === undefined || decision === query.decision) &&
    (query.since === undefined || at >= query.since) &&
    (query.until === undefined || at < query.until)
  )
}
