import type { Key } from '../core/record.ts'
import type { DurationMs } from '../core/units.ts'
import type { OpenTransaction } from './store.ts'

/** 144 bits of the hash of (scope, source), base64url. */
export type SourceKey = string

/** Keeps one text for each source. Each method may be called again after any error. */
export interface SequenceLedger {
  /**
   * The sources of all scopes are in one place: what only a source knows to be done does not say whose it is.
   * @defaultValue false
   */
  readonly sharesSources?: boolean
  /**
   * The texts of sources, in their order; `undefined`: the source has none.
   *
   * @param transaction - reads on the connection of this transaction, so that it waits for no other one, what is committed
   * by now
   */
  read(
    scope: string,
    sources: readonly SourceKey[],
    transaction?: OpenTransaction<unknown>,
  ): Promise<readonly (string | undefined)[]>
  /**
   * Writes the text of a source if it has not changed, and removes records with it, as one atomic step for each source.
   * `true`: the source now has the text. A record that is not done is never removed.
   */
  swap(scope: string, swaps: readonly SourceSwap[]): Promise<readonly boolean[]>
}

export interface SourceSwap {
  readonly source: SourceKey
  /** The text that was read; `undefined`: the source had none. */
  readonly from: string | undefined
  readonly to: string
  /** How long the text is kept at least, counted from now. */
  readonly keepMs: DurationMs
  /** Keys of this source. */
  readonly removed: readonly Key[]
}
