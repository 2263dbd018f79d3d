import type { DecideVerdict, Key, RecordView } from '../core/record.ts'
import type { DurationMs } from '../core/units.ts'

/**
 * What people may do to records. Each method takes the `scope` that its claims were made with; stores that do not keep scopes
 * apart look at all of theirs. Decisions follow `transition()`, one key atomically, and may be sent again. What was decided is
 * written down with the record as it was before, in the same place and at the same time.
 */
export interface StoreAdmin {
  /** Its server ends records when their retention does: `purge` removes none. @defaultValue false */
  readonly forgetsByItself?: boolean
  /** In the order of the keys; changes nothing. */
  peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]>
  /** Records in one state, in no order; changes nothing. May be slow: for people, not for consumers. */
  list(scope: string, query: ListQuery): Promise<RecordPage>
  /** A person knows that the effect happened, or has decided that it is to run. */
  resolve(scope: string, keys: readonly Key[], how: Resolution): Promise<readonly DecideVerdict[]>
  /** What was given up runs again at its next delivery, with all its attempts. */
  reopen(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]>
  /** What is done runs again at its next delivery. */
  forget(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]>
  /** Removes one bounded batch of records whose retention has ended. Call it again while there are `more`. */
  purge(scope: string, how: Purging): Promise<Purged>
}

export interface Why {
  /** Who decides, for the audit. */
  readonly by: string
  readonly reason: string
  /** How long what is decided is kept. */
  readonly retentionMs: DurationMs
}

export interface Resolution extends Why {
  readonly as: 'done' | 'rerun'
}

export type ListedState = 'processing' | 'in-doubt' | 'given-up' | 'parked' | 'done'

export interface ListQuery {
  readonly state: ListedState
  /** At most so many records, and at least one where there are more. */
  readonly limit: number
  /** `next` of the page before. */
  readonly after?: string | undefined
}

export interface RecordPage {
  readonly records: readonly (RecordView & { readonly key: Key })[]
  /** There may be more: ask for what comes after it. */
  readonly next: string | undefined
}

export interface Purging {
  /** Where the store keeps no end with each record: what was marked longer ago goes. */
  readonly retentionMs: DurationMs
  /** Records removed at most, in one transaction. */
  readonly limit: number
}

export interface Purged {
  readonly removed: number
  readonly more: boolean
}
