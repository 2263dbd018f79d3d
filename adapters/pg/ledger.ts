import type { Cause, DurationMs, Key, MarkVerdict, Reason, Result, SetAsideVerdict } from '../../src/index.ts'
import type { Script, Statement } from './sql/statement.ts'

/** What the claims of one transaction write in the tables of their store: rows of an inbox, or positions. */
export interface Ledger {
  /** The mark as far as the claim has not written it: runs in the message of the COMMIT. */
  mark(results: Results): Script
  /** `mark` found that another owner was quicker: surely nothing was committed. */
  isTakenOver(error: unknown): boolean
  /** Ends the claims without a mark, in their transaction, and gives the attempts of `refunded` back. */
  release(refunded: readonly Key[]): Script
  /** Gives attempts back once the transaction is gone, by itself. Not those that another claim has counted since. */
  refund(keys: readonly Key[]): Script
  /**
   * Keeps until when failed attempts hold the next ones back, and why they failed. `inTransaction`: that of the claims, and ends them;
   * otherwise by itself, once that is gone. Missing where one consumer at a time reads messages in their order.
   */
  holdBack?(keys: readonly Key[], how: HoldingBack): Record<'inTransaction' | 'afterwards', Script>
  /**
   * After a COMMIT whose answer was lost. One of its keys that is `already-marked` says that it happened.
   *
   * @throws StoreError `STORE_AMBIGUOUS` while nobody can say
   */
  whatWasCommitted(): Promise<ReadonlyMap<Key, MarkVerdict>>
  /** As `setAside`, a mark of its only key: no effect, but the failure that is the answer. Missing where no results are kept. */
  markFailure?(key: Key, how: MarkingFailure, run: Replacement): Promise<MarkVerdict>
  /** Writes records once the transaction has ended without a mark; the first statement that is run ends it. */
  setAside(keys: readonly Key[], how: SettingAside, run: Replacement): Promise<readonly SetAsideVerdict[]>
}

export interface HoldingBack {
  readonly delayMs: DurationMs
  readonly cause: Cause | undefined
}

export interface SettingAside {
  readonly as: 'given-up' | 'parked'
  readonly reason: Reason
  /** The attempt of these claims was none. */
  readonly refund: boolean
  readonly cause: Cause | undefined
  readonly lockTimeoutMs: DurationMs
}

export interface MarkingFailure {
  readonly result: Result
  /** An answer was lost before: whoever is quicker may be this very claim. */
  readonly isSentAgain: boolean
  readonly lockTimeoutMs: DurationMs
}

/** Of the claims that have one. */
export type Results = ReadonlyMap<Key, Result>

export type Replacement = <Row>(statement: Statement<Row>) => Promise<readonly Row[]>
