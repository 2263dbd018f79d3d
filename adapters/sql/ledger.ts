import type { Cause, DurationMs, Key, MarkVerdict, Reason, Result, SetAsideVerdict } from '../../src/internal.ts'
import type { Script } from './session.ts'

/** The writes of one transaction's claims to the tables of their store: rows of an inbox, or positions. */
export interface Ledger {
  /**
   * The part of the mark that the claim has not written yet, and the end of the claims that are given back: their keys
   * become free, and their attempts are refunded. It runs in the message of the COMMIT.
   */
  mark(results: Results, givenBack: ReadonlySet<Key>): readonly Script[]
  /** True if `mark` failed because another owner was quicker: nothing was committed. */
  isTakenOver(error: unknown): boolean
  /** Ends the claims without a mark, in their transaction, and gives the attempts of `refunded` back. */
  release(refunded: readonly Key[]): readonly Script[]
  /** Gives attempts back after the transaction is gone. Not those that another claim has counted since. */
  refund(keys: readonly Key[]): Script
  /**
   * Writes the end of the backoff and the cause of failed attempts. `inTransaction` runs in the transaction of the
   * claims, and ends them; `afterwards` runs on its own, after the transaction is gone. Missing if one consumer at a
   * time reads messages in order.
   */
  holdBack?(
    keys: readonly Key[],
    how: HoldingBack,
  ): { readonly inTransaction: readonly Script[]; readonly afterwards: Script }
  /**
   * After a COMMIT whose answer was lost. If one of its keys is `already-marked`, the COMMIT happened. It must not ask
   * about keys that are given back, which others may hold.
   *
   * @throws StoreError `STORE_AMBIGUOUS` while that is unknown
   */
  whatWasCommitted(givenBack: ReadonlySet<Key>): Promise<ReadonlyMap<Key, MarkVerdict>>
  /**
   * As `setAside`, but marks its only key with a failure: no effect, and the failure is the answer. Missing if no
   * results are kept.
   */
  markFailure?(key: Key, how: MarkingFailure, run: Replacement): Promise<MarkVerdict>
  /** Writes records after the transaction has ended without a mark. The first script passed to `run` ends it. */
  setAside(keys: readonly Key[], how: SettingAside, run: Replacement): Promise<readonly SetAsideVerdict[]>
}

export interface HoldingBack {
  readonly delayMs: DurationMs
  readonly cause: Cause | undefined
}

export interface SettingAside {
  readonly as: 'given-up' | 'parked'
  readonly reason: Reason
  /** The attempt of these claims does not count. */
  readonly refund: boolean
  readonly cause: Cause | undefined
  readonly lockTimeoutMs: DurationMs
}

export interface MarkingFailure {
  readonly result: Result
  /** An earlier answer was lost: the owner that was quicker may be this same claim. */
  readonly isSentAgain: boolean
  readonly lockTimeoutMs: DurationMs
}

/** Results of the claims that have one. */
export type Results = ReadonlyMap<Key, Result>

/** Runs a script that commits by itself. The first one ends the transaction. */
export type Replacement = <Row>(script: Script<Row>) => Promise<readonly Row[]>
