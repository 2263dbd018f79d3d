import type { AsideStory, ClaimVerdict, MarkVerdict, Reason, Result } from './record.ts'
import type { DurationMs } from './units.ts'

/** Why a message goes to the dead-letter place, as its header and its record say it. */
export type DeadLetterReason =
  | 'no-id'
  | 'undecodable'
  | 'schema'
  | 'conflict'
  | 'handler-failed'
  | 'attempts-spent'
  | 'in-doubt'
  | 'beyond-retention'
  | 'record-unreadable'

/** What to do with a message that is in doubt: its effect may or may not have happened. */
export type InDoubtPolicy = 'rerun' | 'park' | 'reconcile'

/** What to do with a message that nothing is known of, and that is older than what is still known. */
export type BeyondRetentionPolicy = 'run' | 'park' | 'skip'

export interface Policy {
  readonly maxAttempts: number
  readonly onInDoubt: InDoubtPolicy
  readonly onBeyondRetention: BeyondRetentionPolicy
}

/** What follows a claim. */
export type AfterClaim =
  | { readonly next: 'handle' }
  | { readonly next: 'reconcile' }
  /** Marked without a run, then settled as duplicate. */
  | { readonly next: 'skip' }
  | { readonly next: 'settle-duplicate'; readonly result: Result | undefined }
  | { readonly next: 'wait'; readonly waitMs: DurationMs }
  /** `attempts`: how many are counted, where that is told. */
  | { readonly next: 'claim-alone'; readonly attempts: number | undefined }
  /** The store is behind what was delivered: the stream is read again from the stored position. */
  | { readonly next: 'rewind' }
  | { readonly next: 'set-aside'; readonly as: 'given-up' | 'parked'; readonly reason: DeadLetterReason }
  /** The record stays as it is; a record without an effect never swallows a delivery. A set-aside one keeps its reason. */
  | {
      readonly next: 'dead-letter'
      readonly parked: boolean
      readonly reason: Reason
      readonly detail: string
      readonly story?: AsideStory
    }

/**
 * The table of DESIGN.md, section 3, for verdicts of a claim. `again-alone` is what an inbox says of an earlier attempt, `behind`
 * what stored positions say after a restore. `isBeyondRetention`: it was granted because nothing is known of it, and is older than
 * what is still known.
 */
export function afterClaim(
  answer:
    | ClaimVerdict
    | { readonly verdict: 'again-alone'; readonly attempts: number }
    | { readonly verdict: 'behind' },
  policy: Policy,
  isBeyondRetention: boolean = false,
): AfterClaim {
  switch (answer.verdict) {
    case 'claimed':
      if (answer.attempt > policy.maxAttempts) return { next: 'set-aside', as: 'given-up', reason: 'attempts-spent' }
      return isBeyondRetention ? beyondRetention(policy) : { next: 'handle' }
    case 'taken-over':
      if (policy.onInDoubt === 'park') return { next: 'set-aside', as: 'parked', reason: 'in-doubt' }
      // Given up would claim that no effect happened; in doubt, nobody knows.
      if (answer.attempt > policy.maxAttempts) return { next: 'set-aside', as: 'parked', reason: 'attempts-spent' }
      return policy.onInDoubt === 'reconcile' ? { next: 'reconcile' } : { next: 'handle' }
    case 'busy':
      return { next: 'wait', waitMs: answer.leaseLeftMs }
    case 'in-doubt':
      return { next: 'claim-alone', attempts: undefined }
    case 'again-alone':
      return { next: 'claim-alone', attempts: answer.attempts }
    case 'behind':
      return { next: 'rewind' }
    case 'done':
      return { next: 'settle-duplicate', result: answer.result }
    case 'conflict':
      return { next: 'dead-letter', parked: false, reason: 'conflict', detail: 'same ID, another payload' }
    case 'unreadable':
      return { next: 'dead-letter', parked: true, reason: 'record-unreadable', detail: answer.found }
    case 'given-up':
    case 'parked': {
      const { verdict, ...story } = answer
      const detail = `${verdict} by an earlier delivery`
      return { next: 'dead-letter', parked: verdict === 'parked', reason: story.reason, detail, story }
    }
  }
}

function beyondRetention({ onBeyondRetention }: Policy): AfterClaim {
  switch (onBeyondRetention) {
    case 'run':
      return { next: 'handle' }
    case 'park':
      return { next: 'set-aside', as: 'parked', reason: 'beyond-retention' }
    case 'skip':
      return { next: 'skip' }
  }
}

/**
 * How a handler ended. `failed` asserts that no effect happened and none will; `remembered` the same, and that this failure is the
 * answer for good; `unknown` asserts nothing.
 */
export type HandlerResult = 'handled' | 'remembered' | 'failed' | 'fatal' | 'unknown'

export type AfterHandler =
  | { readonly next: 'mark' }
  | { readonly next: 'retry' }
  /** Released in doubt: claimed again, alone. */
  | { readonly next: 'rerun-in-doubt' }
  | { readonly next: 'set-aside'; readonly as: 'given-up' | 'parked'; readonly reason: DeadLetterReason }

/** `doubt`: an earlier attempt left doubt on the record, so nothing may be called given-up any more. */
export function afterHandler(
  result: HandlerResult,
  { attempt, doubt }: { readonly attempt: number; readonly doubt: boolean },
  policy: Policy,
): AfterHandler {
  switch (result) {
    case 'handled':
      return { next: 'mark' }
    case 'remembered':
      // An earlier attempt may have had the effect: then this failure is no answer, and a person looks.
      return doubt ? { next: 'set-aside', as: 'parked', reason: 'handler-failed' } : { next: 'mark' }
    case 'failed':
      if (attempt < policy.maxAttempts) return { next: 'retry' }
      return { next: 'set-aside', as: doubt ? 'parked' : 'given-up', reason: 'attempts-spent' }
    case 'fatal':
      return { next: 'set-aside', as: doubt ? 'parked' : 'given-up', reason: 'handler-failed' }
    case 'unknown':
      // Whether attempts are spent is for the next claim to say, which alone can tell whom they were spent on.
      return policy.onInDoubt === 'park'
        ? { next: 'set-aside', as: 'parked', reason: 'in-doubt' }
        : { next: 'rerun-in-doubt' }
  }
}

/** A refused mark is a lease that was lost: the store says who has the message now. */
export function isMarked(verdict: MarkVerdict): boolean {
  return verdict === 'marked' || verdict === 'already-marked' || verdict === 'marked-late'
}
