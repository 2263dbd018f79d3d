import type { Decision, EpochMs, ListedState, Purged } from '../../../src/internal.ts'
import type { HistoryPlace } from '../history/statements.ts'
import type { Step, StepTaken } from '../in-steps.ts'
import type { Session, Sessions } from '../session.ts'

/** A row of the table of leases. Times are in milliseconds since 1970. */
export interface LeaseRow {
  /** In hex, as the digest. */
  readonly key: string
  /** `null`: digests are not compared. */
  readonly fp: string | null
  readonly owner: string
  /** P processing, R released, D done, G given up, X parked. Any other value is unreadable. */
  readonly state: string
  readonly doubt: boolean
  readonly fence: number
  readonly attempt: number
  readonly lease_until: EpochMs | null
  /** `null` for parked records. */
  readonly keep_until: EpochMs | null
  /** The result of a done record, the reason of one that was set aside. */
  readonly rest: string | null
  readonly not_before: EpochMs | null
  readonly since: EpochMs | null
  readonly cause: string | null
}

export interface LeasesSeen {
  readonly rows: readonly LeaseRow[]
  /** By the server's clock. */
  readonly now: EpochMs
}

export interface WrittenLeases {
  readonly fresh: readonly LeaseRow[]
  /** The row is locked. */
  readonly kept: readonly LeaseRow[]
}

/** A person's decision. */
export interface AuditedLeases {
  readonly decision: Decision
  readonly by: string
  readonly reason: string
  readonly decided: readonly { readonly key: string; readonly before: unknown }[]
}

/** The statements of leases in the SQL of one database, for one scope. Keys are in hex, distinct and in order. */
export interface LeaseStatements {
  /**
   * Opens a transaction in which the existing rows are locked, in the order of keys, and reads them; `now` is the time
   * after the wait for locks. A missing row is not locked.
   */
  lock(keys: readonly string[]): Promise<LeasesSeen & { readonly session: Session }>
  /**
   * Writes in the transaction of `lock`, and commits it. Rejects with an error after which a retry may pass if somebody
   * has inserted one of `fresh` since: then nothing is committed.
   */
  commit(session: Session, written: WrittenLeases, audited: AuditedLeases | undefined): Promise<void>
  /** Locks nothing. A key that is not returned has no record. */
  read(keys: readonly string[]): Promise<LeasesSeen>
  /** Without records whose retention has ended. Locks nothing. */
  list(step: Step & { readonly state: ListedState }): Promise<StepTaken<LeaseRow> & { readonly now: EpochMs }>
  /** Removes one bounded batch of records whose retention has ended. */
  purge(limit: number): Promise<Purged>
}

export interface LeasePlace extends HistoryPlace {
  readonly sessions: Pick<Sessions, 'committed' | 'errors'>
  readonly leases: LeaseStatements
}
