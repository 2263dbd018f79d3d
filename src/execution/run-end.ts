import type { HandlerResult } from '../core/after-run.ts'
import type { Result } from '../core/record.ts'
import { NoEffectError, OutcomeUnknownError, TerminalError, hasCode, isConsumeOnceError } from '../foundation/errors.ts'

/** How a run of a function of the user ended. */
export interface RunEnd {
  readonly result: HandlerResult
  readonly error?: unknown
  /** What it returned, if that is to be kept. */
  readonly value?: unknown
  /** The result or failure to keep with the mark. */
  readonly kept?: Result | undefined
  /** With `handled`: the reason of `ctx.skip`. */
  readonly skipped?: string | undefined
}

/**
 * An error before the abort means that no effect happened. After the abort that is unknown, unless the handler says so.
 */
export function resultOfThrow(error: unknown, isAborted: boolean): HandlerResult {
  // Check the brand first: a handler may throw a proxy that breaks `instanceof`.
  const isOurs: boolean = isConsumeOnceError(error)
  if (!isOurs) return isAborted ? 'unknown' : 'failed' // mutant: time-out-as-failure
  if (hasCode(error, 'RETRY_LATER')) return 'later'
  if (error instanceof NoEffectError || hasCode(error, 'NO_EFFECT')) return 'failed'
  if (error instanceof OutcomeUnknownError || hasCode(error, 'OUTCOME_UNKNOWN')) return 'unknown'
  if (isAborted) return 'unknown'
  return error instanceof TerminalError || hasCode(error, 'TERMINAL') ? 'fatal' : 'failed'
}
