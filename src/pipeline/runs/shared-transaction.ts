import type { ResolvedConsumer } from '../../consumer/resolve-options.ts'
import type { Result } from '../../core/record.ts'
import { isFailure } from '../../core/result.ts'
import type { DurationMs } from '../../core/units.ts'
import type { OpenTransaction, TransactionClaim } from '../../ports/store.ts'
import type { RunEnd } from '../../execution/run-end.ts'
import type { Undecoded } from '../handling/decode-payloads.ts'
import type { RunItem } from '../handling/handler-run.ts'
import type { Granted } from '../store/claim-step.ts'

/** How the handlers of a transaction ended. */
export interface TransactionEnd extends RunEnd {
  /** The stop deadline ended the last that began. Its attempt counts, and the next claim decides what follows. */
  readonly isInterrupted?: boolean
  /** How many messages, from the first on, began. */
  readonly begun: number
  /** The place of the one whose handler ended with `result`. `undefined`: nobody knows which one fails the batch. */
  readonly failed?: number | undefined
  /** Results to keep with the marks, in the order of the items. */
  readonly results?: readonly (Result | undefined)[] | undefined
}

/** One transaction, with the messages that leave it: no handler of them begins, and they are claimed again. */
export interface HeldItems {
  readonly items: readonly RunItem[]
  readonly left: readonly RunItem[]
  /** Why some of these leave. */
  readonly undecoded: readonly Undecoded[]
  /** Those that leave were handled before, beside a message that failed. */
  readonly isProven: boolean
}

/** What a claim granted. */
export interface Claimed {
  readonly granted: readonly RunItem[]
  readonly skipped: readonly Granted[]
  /** How many messages of it need no run, skipped ones included. */
  readonly runless: number
  readonly claimMs: DurationMs
  /** All were handled before, beside a message that failed. */
  readonly isProven: boolean
}

/**
 * The message whose handler failed, if this attempt counts although others shared its transaction. Not the last one: what
 * gives a message up is a run alone. A stream counts the starts of its messages together.
 */
export function culpritOf(
  items: readonly RunItem[],
  { failed, result }: TransactionEnd,
  { store, maxAttempts }: ResolvedConsumer,
): RunItem | undefined {
  const culprit = failed === undefined || store.strategy === 'offsets' ? undefined : items[failed]
  if (culprit === undefined) return undefined
  if (result === 'later') return culprit
  if (culprit.claim.attempt >= maxAttempts) return undefined
  return result === 'failed' || result === 'unknown' ? culprit : undefined
}

/** Which items do not lie behind one of these in its lane, and are none of them. */
export function openedBy(closing: readonly { readonly item: RunItem }[]): (item: RunItem) => boolean {
  const ends = new Set(closing.map(({ item }) => item))
  const closed = new Set<string | number>()
  return (item) => {
    const { task } = item
    const lane = task.position?.stream ?? task.lane
    if (ends.has(item) && lane !== undefined) closed.add(lane)
    return !ends.has(item) && (lane === undefined || !closed.has(lane))
  }
}

/** A duplicate by another key has the same result under all. A failure would have to be marked alone. */
export function withResultsOf(
  skipped: readonly Granted[],
  at: number,
  results: TransactionEnd['results'],
): TransactionEnd['results'] {
  const own = skipped.map(({ duplicateOf }) => duplicateOf?.result)
  if (own.every((result) => result === undefined || isFailure(result))) return results
  const before = results ?? Array.from({ length: at }, () => undefined)
  return [...before, ...own.map((result) => (result === undefined || isFailure(result) ? undefined : result))]
}

/** An earlier handler of the transaction has changed what this one would run with. */
export function isChanged(item: RunItem): boolean {
  return transactionOf(item)?.isChanged === true
}

export function transactionOf({ claim }: RunItem): OpenTransaction<unknown> | undefined {
  return 'transaction' in claim ? (claim as TransactionClaim<unknown>).transaction : undefined
}
