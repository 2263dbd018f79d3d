import type {
  ClaimRequest,
  Decision,
  DurationMs,
  MessageRecord,
  OwnerToken,
  Purged,
  Purging,
} from '../../../src/internal.ts'
import type { StoredItem, StoredKey } from '../bytes.ts'
import type { HistoryStatements } from '../history/statements.ts'
import type { Step, StepTaken } from '../in-steps.ts'
import type { Place } from '../place.ts'
import type { Script, Session } from '../session.ts'

/** A record of a key, in terms of people and of `transition()`. */
export interface RecordRow {
  /** In hex, as the digest. */
  readonly key: string
  /** `d`: done; `g`: given up; `p`: parked, also torn. Any other value is unreadable. */
  readonly outcome: string
  readonly fp: string | null
  readonly owner: string | null
  readonly reason: string | null
  readonly result: string | null
  /**
   * Starts of its handler, for records that are not done, like the fields below; `null`: it is not known.
   */
  readonly attempt: number | null
  readonly cause: string | null
  /** When it was marked or set aside, in milliseconds since 1970. */
  readonly since: number
  /** The transaction that wrote the row. */
  readonly writer: string
}

export interface HeldRow extends RecordRow {
  /** There was no row; this transaction has inserted the one that was read. */
  readonly is_new: boolean
}

/** The stored attempts of a key. */
export interface AttemptRow {
  readonly key: string
  readonly n: number
  readonly fp: string | null
  /** Time until the end of its backoff, in milliseconds by the server's clock; 0 or less: it is over. */
  readonly wait_ms: number
  /** Time since its last count, in milliseconds by the server's clock. */
  readonly age_ms: number
  /** Milliseconds since 1970; `null`: there is no backoff. */
  readonly not_before: number | null
  readonly cause: string | null
}

export interface Counted {
  readonly attempt: number
  /** A person has let it run (`letRun`). */
  readonly isKnown: boolean
}

/** A transaction that holds keys, whose attempts were counted before it began. */
export interface OpenedClaim<Tx> {
  readonly session: Session<Tx>
  /** The keys that had no record: it has inserted a row for each. Must be asked only about keys of the claim. */
  readonly inserted: { readonly size: number; has(key: string): boolean }
  readonly counted: { readonly size: number; of(key: string): Counted | undefined }
  /** `RecordRow.writer` of its rows; `null` if it has written nothing. */
  readonly writer: string | null
}

/** An item that a claim was granted. */
export interface TriedItem extends StoredItem {
  /** Starts of its handler, including this one. */
  readonly attempt: number
  /** The store had attempts of it before this claim, or a person has let it run. */
  readonly isTried: boolean
}

export interface Attempts {
  readonly keys: readonly string[]
  readonly token: OwnerToken
  /** They are all that the claim was granted. */
  readonly isWhole: boolean
}

/** What a claim marks, and what of it is given back in the same transaction. */
interface Marking {
  readonly items: readonly TriedItem[]
  readonly token: OwnerToken
  /** By key. */
  readonly results: ReadonlyMap<string, string>
  /** How long the records are kept. */
  readonly keepMs: DurationMs
  readonly givenBack: readonly string[]
}

export interface HeldBack {
  readonly items: readonly TriedItem[]
  readonly token: OwnerToken
  readonly keepMs: DurationMs
  readonly delayMs: DurationMs
  readonly cause: string | undefined
}

export interface Writing {
  readonly items: readonly (StoredKey & { readonly attempt: number | null })[]
  readonly owner: OwnerToken
  readonly outcome: 'd' | 'g' | 'p'
  readonly reason: string | null
  readonly result: string | null
  readonly cause: string | null
  /** How long the records are kept. */
  readonly keepMs: DurationMs
  readonly lockTimeoutMs: DurationMs
}

export interface Decided {
  readonly key: string
  readonly before: MessageRecord
}

/** The statements of an inbox in the SQL of one database, for one scope. Keys are in hex and distinct. */
export interface InboxStatements<Tx> {
  /** A claim of so many keys looks for records first: `open` would lock them until its handlers end. */
  looksFirst(keys: number): boolean
  /**
   * Counts an attempt for each key, commits that, and begins the transaction of the handlers with a row for each key
   * that has no record. All of it is one message where the server takes that. A key is not counted if it has an earlier
   * attempt and the claim is not `alone`, if its backoff is not over, or if another payload was tried with its ID.
   * None of that applies to a key that a person has let run. Waits for a transaction that holds one of the keys.
   */
  open(request: ClaimRequest, items: readonly StoredItem[]): Promise<OpenedClaim<Tx>>
  /** Locks nothing. A key that is not returned has no record. */
  read(keys: readonly string[]): Script<RecordRow>
  /**
   * As `read`, but a `done` in the result survives a crash of the server, because it leads to a settle. Do not call it
   * with an open transaction: it waits for another connection.
   */
  readForGood(keys: readonly string[]): Promise<readonly RecordRow[]>
  /** A crash of the server may undo a record that `read` returned, because it may not be flushed. */
  mayBeUndone(row: RecordRow): boolean
  /** As `read`, in the transaction of a claim that has not inserted these keys: it does not count them. */
  readBeside(keys: readonly string[], token: OwnerToken): Script<RecordRow>
  /** Locks nothing. A key that is not returned was never tried, or has ended. Not what the claim `but` has counted. */
  readAttempts(keys: readonly string[], but?: OwnerToken): Script<AttemptRow>
  /** Ends a claim of which nothing is granted, and that has inserted rows for some keys. Its attempts do not count. */
  abandon(session: Session<Tx>, token: OwnerToken, inserted: readonly string[]): Promise<void>
  /** Removes what claims have counted of keys that have a record now. Missing if nothing else keeps it. */
  readonly withdraw?: (keys: readonly string[]) => Script
  /**
   * Holds keys until the transaction ends, with or without a record, and reads them. Waits for a transaction that holds
   * one of them. A key that is not returned has just lost its record.
   */
  hold(keys: readonly string[]): Script<HeldRow>
  /** Finds out, with hardly a wait, whether a transaction holds the key: then it fails with the lock timeout. */
  glance(key: string): Script
  /** Removes rows that the transaction holds. */
  remove(keys: readonly string[]): Script
  /** As `remove`, but only the rows that the transaction of the token has inserted: the others are records. */
  removeInserted(keys: readonly string[], token: OwnerToken): Script
  /** The mark of keys whose rows the transaction has inserted. What is given back is free again, with its attempt. */
  mark(marking: Marking): readonly Script[]
  /** Removes attempts, in the transaction of a person's decision. */
  forgetAttempts(keys: readonly string[]): Script
  /**
   * Gives attempts back, in a transaction that holds their keys. Not those that were given back before, or that a later
   * claim has counted.
   */
  refund(attempts: Attempts): Script
  /** The same after the transaction that held the keys is gone. */
  refundLost(attempts: Attempts): Script
  /**
   * Writes the end of the backoff and the cause of failed attempts, in the transaction that holds their keys or after
   * that. Not those that a later claim has counted.
   */
  holdBack(failed: HeldBack, when: 'in-transaction' | 'afterwards'): Script
  /**
   * Writes records instead of a transaction, committed by itself, and removes their attempts: a record that is reopened
   * has all of them. Waits for a transaction that holds a key. Returns the records that this owner has written.
   */
  write(writing: Writing): Script<Pick<RecordRow, 'key' | 'outcome'>>
  /** In the order of keys. Locks nothing. */
  list(step: Step & { readonly outcome: 'd' | 'g' | 'p' }): Promise<StepTaken<RecordRow>>
  /** Logs a decision with the previous records. Must run before they are changed. */
  audit(decided: readonly Decided[], decision: Decision, why: { readonly by: string; readonly reason: string }): Script
  /** Turns locked rows into done ones, whose retention begins now. */
  makeDone(keys: readonly string[], keepMs: DurationMs): Script
  /**
   * Restores all attempts of keys that a person has let run, in the transaction of the decision. A row without attempts
   * stays, and shows that the key is known: otherwise a message older than retention would look like one whose record
   * was removed. Neither a purge nor a refund removes it until it is marked or set aside.
   */
  letRun(keys: readonly string[]): Script
  /**
   * Removes one bounded batch of records that are older than `retentionMs` and whose own end is over. Parked records wait
   * for a person.
   */
  purge(how: Purging): Promise<Purged>
}

export interface InboxPlace<Tx> extends Place<Tx> {
  readonly history: HistoryStatements
  readonly inbox: InboxStatements<Tx>
}
