import type { AuditQuery, DurationMs, EpochMs, Note, ReplayRequest, Taking } from '../../../src/internal.ts'
import type { Script, Sessions } from '../session.ts'

/** The times that the table of scopes keeps. In milliseconds since 1970, rounded up. */
export interface ScopeTimes {
  /** First claim or import. `null`: there was none since the column exists. */
  readonly first_claim_at: EpochMs | string | null
  /** A purge has removed records that ended before this time. `null`: none has. */
  readonly purged_to: EpochMs | string | null
  /** For each retention when claims were made with it at the latest, as JSON. `null`: records have no end of their own. */
  readonly retentions: string | null
  readonly now: EpochMs | string
}

/** A decision in the table of audits. */
export interface AuditRow {
  readonly id: number | string
  readonly at: EpochMs | string
  /** In hex. */
  readonly key: string
  readonly decision: string
  readonly by_whom: string
  readonly reason: string
  /** The previous record, as JSON. `null`: there was none. */
  readonly before: string | null
}

export interface Use {
  readonly retentionMs: DurationMs
  readonly forMs: DurationMs
}

export interface AuditPageOf extends Pick<AuditQuery, 'by' | 'decision' | 'since' | 'until'> {
  /** In hex; `undefined`: of all keys. */
  readonly key: string | undefined
  /** ID of the last decision of the previous page; `undefined`: the first page. */
  readonly after: string | undefined
  readonly limit: number
}

/** A replay. Times are in milliseconds. */
export interface ReplayRow {
  readonly id: string
  readonly state: string
  readonly owner: string | null
  readonly created_at: EpochMs | string
  readonly saved_at: EpochMs | string
  /** 0 or less: the hold is over. */
  readonly left_ms: DurationMs | string
  readonly request: ReplayRequest | null
}

/**
 * What the tables keep beside the records, in the SQL of one database, for one scope. Each statement commits by itself,
 * durably, and may be sent again.
 */
export interface HistoryStatements {
  /**
   * Notes the time of the first claim or import, unless one is noted; and, where each record has its own end, that
   * claims are made with this retention for the next `forMs`.
   */
  noteUse(use: Use): Script
  /** Locks nothing. One row. */
  readTimes(): Script<ScopeTimes>
  /** The newest first. Locks nothing. */
  readAudit(page: AuditPageOf): Script<AuditRow>
  /** Adds a row to the audit that is about no message. */
  writeNote(note: Note): Script
  /** Creates the replay, or takes it unless another owner holds it. One row: the replay as it is then. */
  takeReplay(id: string, how: Taking): Script<ReplayRow>
  /** One row if `owner` has the replay, none otherwise. */
  saveReplay(id: string, how: Taking): Script<Pick<ReplayRow, 'request'>>
  leaveReplay(id: string, owner: string): Script
  /** One row if the replay is there. */
  askReplay(id: string, request: ReplayRequest | undefined): Script
  readReplay(id: string): Script<ReplayRow>
  /** The newest first. */
  listReplays(limit: number): Script<ReplayRow>
}

export interface HistoryPlace {
  readonly sessions: Pick<Sessions, 'committed'>
  readonly history: HistoryStatements
}
