import type { DeadLetterReason, Policy } from './after-claim.ts'
import type { MarkVerdict } from './record.ts'

/**
 * How a function of the user ended. `failed`: no effect happened and none will. `remembered`: the same, and this failure
 * is the final answer. `later`: the same as `failed`, and a later attempt was asked for. `unknown`: the effect may have
 * happened.
 */
export type HandlerResult = 'handled' | 'remembered' | 'failed' | 'later' | 'fatal' | 'unknown'

/** What it ran under. Only under a lease an effect can outlive a failure: a transaction is rolled back with it. */
export type Ground = 'lease' | 'transaction' | 'nothing'

export interface Ran {
  readonly result: HandlerResult
  readonly attempt: number
  /** An earlier attempt left the record in doubt, so the message can no longer be given up. */
  readonly doubt: boolean
  /** How many messages shared the run. */
  readonly messages: number
  /** It was aborted because the process stops or its deliveries are gone. */
  readonly isInterrupted: boolean
  /** Transaction only: how often in a row the database ended it, through no fault of the function. */
  readonly losses: number
  /** With `later`: its messages may still be put off without spending an attempt. @defaultValue false */
  readonly mayPutOff?: boolean
}

export type AfterRun =
  | { readonly next: 'mark' }
  /** Each of its messages runs again, with fewer others: the failure of a batch says nothing about one of them. */
  | { readonly next: 'split' }
  /** It runs again at once. */
  | { readonly next: 'again' }
  /** It runs again after a pause. */
  | { readonly next: 'retry' }
  /** Each of its messages runs again after the time that was asked for, in the same attempt. */
  | { readonly next: 'put-off' }
  /** Release it in doubt; it is then claimed again, alone. */
  | { readonly next: 'rerun-in-doubt' }
  | { readonly next: 'set-aside'; readonly as: 'given-up' | 'parked'; readonly reason: DeadLetterReason }

/** The next step after a run of a function of the user: of a handler, and of `once`. */
export function afterRun(
  { result, attempt, doubt, messages, isInterrupted, losses, mayPutOff = false }: Ran,
  ground: Ground,
  policy: Policy,
): AfterRun {
  switch (result) {
    case 'handled':
      return { next: 'mark' }
    case 'remembered':
      // Its writes are rolled back and only its mark is committed, so its transaction must hold nothing else.
      if (ground === 'transaction' && messages > 1) return { next: 'split' }
      // An earlier attempt may have had the effect. Then the failure is not the answer, and a person must look.
      return doubt ? { next: 'set-aside', as: 'parked', reason: 'handler-failed' } : { next: 'mark' }
    case 'unknown':
      if (ground !== 'lease') break
      // The next claim decides whether the attempts are spent.
      return policy.onInDoubt === 'park' // mutant: parked-though-to-run
        ? { next: 'set-aside', as: 'parked', reason: 'in-doubt' }
        : { next: 'rerun-in-doubt' }
    case 'later':
      if (mayPutOff) return { next: 'put-off' } // mutant: limit-put-off-spends-its-attempt
      break
    case 'failed':
    case 'fatal':
  }
  if (messages > 1) return { next: 'split' }
  if (isInterrupted && result !== 'fatal') return { next: 'again' }
  // Without a claim no attempt is counted in the store, and nothing is ever set aside.
  if (losses > 0 || ground === 'nothing') return { next: 'retry' }
  if (result !== 'fatal' && attempt < policy.maxAttempts) return { next: 'retry' } // mutant: attempts-without-end
  const reason = result === 'fatal' ? 'handler-failed' : 'attempts-spent'
  return { next: 'set-aside', as: doubt ? 'parked' : 'given-up', reason } // mutant: doubt-given-up
}

/** A refused mark means that the lease was lost; a new claim shows who has the message now. */
export function isMarked(verdict: MarkVerdict): boolean {
  return verdict === 'marked' || verdict === 'already-marked' || verdict === 'marked-late' // mutant: settle-refused-mark
}
