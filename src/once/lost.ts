import { OnceError, TransactionError, describeError } from '../foundation/errors.ts'
import type { Claim, TransactionClaim } from '../ports/store.ts'

/** A run of which nothing is left: another one may succeed. */
export interface Lost {
  /** What the caller gets if no other run follows. */
  readonly error: unknown
  readonly mostRuns: number
}

/** The only run of a call is lost: nothing of it was committed, and its key is free. `cause` ended its transaction. */
export class LostRun extends Error {
  constructor(cause: unknown) {
    super('nothing was committed', { cause })
  }
}

/** Runs of the function by one call, if the connection of its transaction is lost in each, or its lease. */
export const MOST_LOST = 3

/** Runs of the function by one call, if each is a deadlock victim or fails to serialize, as in core/losses.ts. */
export const MOST_CONFLICTS = 20

export function busyError(): OnceError {
  return new OnceError('ONCE_BUSY', 'another call with this key is under way')
}

export function lostError(cause: unknown): TransactionError {
  const why = cause === undefined ? 'its connection was lost' : describeError(cause)
  const text = `nothing was committed, the transaction of the function is gone: ${why}`
  return new TransactionError('COMMIT_REFUSED', text, { cause })
}

export function conflictError(cause: unknown, runs: number): TransactionError {
  const often = runs === 1 ? 'a run' : `each of ${runs} runs`
  const what = `a deadlock, or a failure to serialize with others, ended the transaction in ${often} of the function`
  return new TransactionError('COMMIT_REFUSED', `nothing was committed: ${what}: ${describeError(cause)}`, { cause })
}

/** The database ended the transaction of this claim through no fault of the function: it may run again. */
export function isConflict(claim: Claim): boolean {
  const { transaction } = claim as Partial<TransactionClaim<unknown>>
  return transaction?.lossesInARow !== undefined
}
