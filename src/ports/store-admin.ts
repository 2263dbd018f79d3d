import type { DecideVerdict, Key, RecordView } from '../core/record.ts'
import type { DurationMs, EpochMs } from '../core/units.ts'
import type { AuditEntry, ReplayLedger } from './replay.ts'

/**
 * Operations for people on the records of a store. Each method takes the `scope` of the claims; a store that does not
 * separate scopes looks at all its records. Decisions follow `transition()`, are atomic for each key, and may be sent
 * again. Each decision is logged for audit with the previous record, in the same place and the same transaction.
 */
export interface StoreAdmin {
  /** The server expires records at the end of their retention, and `purge` removes none. @defaultValue false */
  readonly forgetsByItself?: boolean
  /** Reads records, in the order of the keys; changes nothing. */
  peek(scope: string, keys: readonly Key[]): Promise<readonly RecordView[]>
  /**
   * Records in one state, in no particular order; changes nothing. A rare state may be found only by looking at all
   * records: `lookAtMost` bounds one page.
   */
  list(scope: string, query: ListQuery): Promise<RecordPage>
  /** Records the decision of a person: the effect happened, or the message must run. */
  resolve(scope: string, keys: readonly Key[], how: Resolution): Promise<readonly DecideVerdict[]>
  /** A message that was given up runs again at its next delivery, with all its attempts. */
  reopen(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]>
  /** A message that is done runs again at its next delivery. */
  forget(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]>
  /** Removes one batch of records whose retention has ended. Call it again while `more` is true. */
  purge(scope: string, how: Purging): Promise<Purged>
  /**
   * Absence of a record proves nothing about a message that arrived before this time: the store had no records of this scope yet,
   * lost them, has purged that far, or kept them for less than now. The earliest possible time is that of the first claim or
   * import, whichever came first. `undefined`: there was neither. Asking changes no message record.
   */
  knownSince?(scope: string): Promise<KnownSince | undefined>
  /**
   * Records messages as done that happened before this library was used. Only for keys without a record. Makes the scope known: a
   * message that arrives later and has no record was not handled.
   */
  import?(scope: string, keys: readonly Key[], why: Why): Promise<readonly DecideVerdict[]>
  /** The decisions of people, the newest first. */
  audit?(scope: string, query: AuditQuery): Promise<AuditPage>
  /**
   * Adds to the audit what a person did beside the records: paused a consumer, aborted a replay. Changes no record, and does
   * not make the scope known. Sent again after an unknown answer, it may be there twice.
   */
  note?(scope: string, note: Note): Promise<void>
  readonly replays?: ReplayLedger
  /**
   * Calls `listener` with the reason whenever a server refuses a connection, until the returned function is called: a client may try on for
   * long without an answer to what it was asked.
   */
  onRefused?(listener: (why: string) => void): () => void
}

export interface KnownSince {
  readonly at: EpochMs
  /** For people: `the first claim or import of this consumer`, `the store has had its data since then`, `the last purge`. */
  readonly because: string
}

/** Which decisions. All that is given must hold. */
export interface AuditQuery {
  readonly key?: Key | undefined
  /** Of this person. */
  readonly by?: string | undefined
  /** `AuditEntry.decision`: `reopen`, `pause`. */
  readonly decision?: string | undefined
  /** At this time or later. */
  readonly since?: EpochMs | undefined
  /** Before this time. */
  readonly until?: EpochMs | undefined
  readonly limit: number
  /** `next` of the previous page. */
  readonly after?: string | undefined
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next: string | undefined
}

/** What a person did to a consumer or a replay. */
export interface Note {
  /** `pause`, `resume`, `abort`, `start`: 1 to 16 of `a-z` and `-`. */
  readonly what: string
  /** To what: `consumer`, `replay 7f3a91c2`. 1 to 200 characters. */
  readonly about: string
  /** Who did it. */
  readonly by: string
  readonly reason: string
}

export interface Why {
  /** Who decides, for the audit. */
  readonly by: string
  readonly reason: string
  /** How long the record is kept after the decision. */
  readonly retentionMs: DurationMs
}

export interface Resolution extends Why {
  readonly as: 'done' | 'rerun'
}

export type ListedState = 'processing' | 'in-doubt' | 'given-up' | 'parked' | 'done'

export interface ListQuery {
  readonly state: ListedState
  /** The most records in a page. Without `lookAtMost` a page has at least one record if there are more. */
  readonly limit: number
  /**
   * The most records to look at for one page, in whatever state; 1 or more. A page that ends here may have fewer records
   * than `limit`, or none, and has a `next`. Redis looks at all keys of its server, and at a few more than this.
   * @defaultValue all
   */
  readonly lookAtMost?: number | undefined
  /** `next` of the previous page. */
  readonly after?: string | undefined
}

export interface RecordPage {
  readonly records: readonly (RecordView & { readonly key: Key })[]
  /**
   * How many records were looked at for this page, in whatever state; on Redis about how many keys. While the table of a
   * Redis server grows or shrinks, a record may be on two pages; it is never on none.
   */
  readonly looked: number
  /** Cursor of the next page; `undefined` on the last one. */
  readonly next: string | undefined
}

export interface Purging {
  /**
   * No record is removed that was marked more recently than this. A record that has an end of its own, from the retention
   * of its claim, is not removed before that either.
   */
  readonly retentionMs: DurationMs
  /** The most records to remove, in one transaction. */
  readonly limit: number
}

export interface Purged {
  readonly removed: number
  readonly more: boolean
}
