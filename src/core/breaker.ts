import type { DurationMs } from './units.ts'

/**
 * So many messages in a row that end without their effect, and none with it, hold the consumer.
 *
 * Larger than any streak by chance: where a share p of all messages is poison, 50 in a row begin at one message of
 * 2e26 for p = 30 %, 2e15 for 50 %, 2e8 for 70 %. Larger than most bursts of one producer. Small enough to look through
 * and to redrive in one go, and below what one intake holds (500), so that most of what waits is spared.
 */
export const HOLD_AFTER = 50

const FIRST_TRIAL_MS: DurationMs = 1_000
const MOST_BETWEEN_TRIALS_MS: DurationMs = 60_000

/**
 * Whether messages come through at all.
 *
 *   closed ─ HOLD_AFTER failures ─> awaiting ─ nothing runs ─> last-look ─ it fails ─> holding <─ it fails ── trying
 *                                       └──── and nothing is ready ───────────────────>  └────── due ──────────^
 *
 * A success, or a person, leads from each of them to `closed`. Nothing else does: no timer and no silence.
 */
export type Breaker =
  | { readonly is: 'closed'; readonly failures: number }
  /** Enough have failed. Nothing begins, and what runs already may still prove that messages come through. */
  | { readonly is: 'awaiting' }
  /** Nothing runs any more. One message that is ready is let through before anybody is alarmed. */
  | { readonly is: 'last-look' }
  /** Nothing begins until the next trial is due. `trials`: how many have failed. */
  | { readonly is: 'holding'; readonly trials: number }
  /** One message is let through. */
  | { readonly is: 'trying'; readonly trials: number }

export type BreakerEvent =
  /** A message ends without its effect: it is dead-lettered or parked. */
  | 'failed'
  /** An attempt failed, and its message is tried again. */
  | 'attempt-failed'
  /** A message was handled. */
  | 'succeeded'
  /** Nothing runs, and a message is ready to begin. */
  | 'idle'
  /** Nothing runs, and nothing is ready. */
  | 'nothing-left'
  /** It is time for the next trial. */
  | 'due'
  /** A person says: go on. */
  | 'resumed'

/** No failure since the last success. The only such state, so that it is recognised by identity. */
export const AT_EASE: Breaker = { is: 'closed', failures: 0 }

/** Returns the same state if the event changes nothing. `limit`: `HOLD_AFTER`, or less in tests. */
export function moved(state: Breaker, event: BreakerEvent, limit: number = HOLD_AFTER): Breaker {
  if (event === 'succeeded' || event === 'resumed') return AT_EASE
  switch (state.is) {
    case 'closed':
      if (event !== 'failed') return state
      return state.failures + 1 >= limit ? { is: 'awaiting' } : { is: 'closed', failures: state.failures + 1 } // mutant: never-holds
    case 'awaiting':
      if (event === 'idle') return { is: 'last-look' }
      return event === 'nothing-left' ? { is: 'holding', trials: 0 } : state
    case 'last-look':
      return event === 'failed' || event === 'attempt-failed' || event === 'nothing-left'
        ? { is: 'holding', trials: 0 }
        : state
    case 'holding':
      return event === 'due' ? { is: 'trying', trials: state.trials } : state // mutant: hold-ended-by-time
    case 'trying':
      return event === 'failed' || event === 'attempt-failed' ? { is: 'holding', trials: state.trials + 1 } : state
  }
}

/** A message may end without its effect now. Otherwise it is held back: neither dead-lettered nor settled. */
export function admitsFailure({ is }: Breaker): boolean {
  return is === 'closed' || is === 'last-look' || is === 'trying' // mutant: holds-nothing-back
}

/** The consumer holds, and a person should know. */
export function isHolding({ is }: Breaker): boolean {
  return is === 'holding' || is === 'trying'
}

/** How many messages may begin. */
export function allowance({ is }: Breaker): number {
  switch (is) {
    case 'closed':
      return Number.POSITIVE_INFINITY
    case 'last-look':
    case 'trying':
      return 1
    case 'awaiting':
    case 'holding':
      return 0
  }
}

/** From 1 s, doubled to 60 s. */
export function trialDelayMs(trials: number): DurationMs {
  return Math.min(MOST_BETWEEN_TRIALS_MS, FIRST_TRIAL_MS * 2 ** Math.min(trials, 30))
}
