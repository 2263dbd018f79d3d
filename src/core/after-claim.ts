import type { AsideStory, ClaimVerdict, Reason, Result } from './record.ts'
import type { DurationMs } from './units.ts'

/** Why a message was dead-lettered: the value of the header and of the record. */
export const DEAD_LETTER_REASONS = [
  'no-id',
  'undecodable',
  'schema',
  'conflict',
  'handler-failed',
  'attempts-spent',
  'in-doubt',
  'beyond-retention',
  'record-unreadable',
  'behind-sequence',
] as const

/** Why RabbitMQ itself put a message there: what it writes into `x-death`. */
export const BROKER_REASONS = ['rejected', 'expired', 'maxlen', 'delivery_limit'] as const

export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number]

/** What to do with a message in doubt: its effect may have happened. */
export type InDoubtPolicy = 'rerun' | 'park' | 'reconcile'

/** What to do with a message that has no record and is older than the retention. */
export type BeyondRetentionPolicy = 'run' | 'park' | 'skip'

export interface Policy {
  readonly maxAttempts: number
  readonly onInDoubt: InDoubtPolicy
  readonly onBeyondRetention: BeyondRetentionPolicy
}

/** The next step after a claim. */
export type AfterClaim =
  | { readonly next: 'handle' }
  | { readonly next: 'reconcile' }
  /** Mark it without a run of the handler, then settle it as a duplicate. */
  | { readonly next: 'skip' }
  | { readonly next: 'settle-duplicate'; readonly result: Result | undefined }
  | { readonly next: 'wait'; readonly waitMs: DurationMs }
  /** `attempts`: the number of counted attempts, if the store says it. */
  | { readonly next: 'claim-alone'; readonly attempts: number | undefined }
  /** The store is behind the deliveries: read the stream again from the stored position. */
  | { readonly next: 'rewind' }
  | { readonly next: 'set-aside'; readonly as: 'given-up' | 'parked'; readonly reason: DeadLetterReason }
  /**
   * The record stays as it is. A message whose record shows no effect is dead-lettered again, never dropped. A record
   * that was set aside keeps its reason.
   */
  | {
      readonly next: 'dead-letter'
      readonly parked: boolean
      readonly reason: Reason
      readonly detail: string
      readonly story?: AsideStory
    }

/**
 * The next step for each verdict of a claim (docs/protocol.md, Verdicts). `again-alone` comes from an inbox with an
 * earlier attempt, `behind` from stored positions after a restore. `isBeyondRetention`: the claim was granted without a
 * record, and the message is older than the retention.
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
      if (answer.attempt > policy.maxAttempts) return { next: 'set-aside', as: 'given-up', reason: 'attempts-spent' } // mutant: attempts-without-end 2
      return isBeyondRetention ? beyondRetention(policy) : { next: 'handle' }
    case 'taken-over':
      if (policy.onInDoubt === 'park') return { next: 'set-aside', as: 'parked', reason: 'in-doubt' }
      // `given-up` would say that no effect happened. In doubt that is unknown.
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
      return { next: 'settle-duplicate', result: answer.result } // mutant: duplicate-dead-lettered
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
