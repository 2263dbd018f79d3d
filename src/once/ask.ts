import { StoreError } from '../foundation/errors.ts'
import type { FindFault } from '../execution/store-answers.ts'
import { StoreLine } from '../execution/store-line.ts'
import type { Clock } from '../ports/clock.ts'
import type { Entropy } from '../ports/entropy.ts'
import type { StoreOperation } from '../ports/observer.ts'
import type { StoreCalls } from '../ports/store.ts'

/** Calls `end` once, when a time is over. Returns what cancels it. */
export type Limit = (end: () => void) => () => void

export interface Asking<T> {
  readonly operation: StoreOperation
  /** Must be safe to send again: the same token each time. */
  readonly call: () => Promise<readonly T[]>
  readonly faultOf: FindFault<T>
  /** From the first call on, whether one hangs or fails: the store is not asked again after that. */
  readonly limit: Limit
  /** The caller goes before that. The store is asked until `limit` all the same. */
  readonly leave?: Limit
  /** An answer that nobody waits for any more. */
  readonly late?: (answer: T) => void
}

/**
 * Asks a store until it answers, with the same token each time. The deadline lies over the calls, not between them: a
 * store that never answers, as when its pool is used up, does not hold up the caller.
 *
 * @throws (rejects) StoreError when the limit is over, or the caller has left: the answer is unknown
 */
export function askStore<T>(
  {
    store,
    clock,
    entropy,
  }: { store: Pick<StoreCalls, 'onReachable'>; clock: Pick<Clock, 'monotonic' | 'after'>; entropy: Entropy },
  { operation, call, faultOf, limit, leave, late }: Asking<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let failure: unknown
    let isLeft = false
    const line = new StoreLine(clock as Clock, entropy, {
      onCall: (_operation, _count, _sentAt, error) => {
        failure = error
      },
      onReachable: (listener) => store.onReachable?.(listener),
      onDown: () => {},
      onUp: () => {},
    })
    const forget: (() => void)[] = []
    const left = (): void => {
      isLeft = true
      reject(unanswered(operation, failure))
    }
    const over = (answers: readonly T[] | undefined): void => {
      for (const cancel of forget) cancel()
      const [answer] = answers ?? []
      if (answer === undefined) left()
      else if (isLeft) late?.(answer)
      else resolve(answer)
    }
    if (leave !== undefined) forget.push(leave(left))
    forget.push(
      limit(() => {
        line.abandon()
        // The call may hang for ever: nothing may stay behind on the signal of the caller.
        for (const cancel of forget) cancel()
        left()
      }),
    )
    line.ask(operation, 1, call, faultOf).then(over, reject)
  })
}

function unanswered(operation: StoreOperation, cause: unknown): StoreError {
  return operation === 'claim'
    ? new StoreError('STORE_UNREACHABLE', 'the store did not answer the claim; the function was not called', { cause })
    : new StoreError('STORE_AMBIGUOUS', `the store did not answer (${operation}) after the function had run`, { cause })
}
