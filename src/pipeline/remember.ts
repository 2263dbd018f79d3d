import { failureOf, resultOf, type RememberedFailure } from '../core/result.ts'
import { TerminalError, describeError, errorClass } from '../errors.ts'
import type { ResolvedConsumer } from '../resolve-options.ts'
import type { HandlerRun, RunEnd } from './handler-run.ts'
import type { Desk } from './runner.ts'

/** Of a failure's name and code; its message is cut by `describeError`. */
const LONGEST_NAME = 100

/** Whether anything is kept with the marks of a consumer. */
export function remembers({ rememberResult, rememberFailure }: ResolvedConsumer): boolean {
  return rememberResult || rememberFailure !== undefined
}

/** What its duplicates are to be told of a run that ended: found before its mark, since what cannot be kept may undo it. */
export function remember(run: HandlerRun, end: RunEnd, desk: Desk): RunEnd {
  const { rememberResult, rememberFailure } = desk.consumer
  if (end.result === 'handled') return rememberResult ? keepResult(run, end, desk) : end
  // After an abort the failure is that of the abort, whatever it looks like.
  if (rememberFailure === undefined || end.result === 'unknown' || run.isAborted) return end
  const { error } = end
  try {
    const answer: unknown = rememberFailure(error)
    if (answer !== true) return end
  } catch (thrown) {
    for (const { task } of run.items) {
      desk.observe({ type: 'policy-threw', policy: 'rememberFailure', key: task.key, error: thrown })
    }
    return end
  }
  return { result: 'remembered', error, kept: failureOf(failureFrom(error)) }
}

/**
 * Where it cannot be kept: an inbox commits nothing, and a person reads why. Under a lease the effect has happened: to release or
 * to set aside would have it happen again, sooner or later, so it is marked, with a failure in place of the result.
 */
function keepResult(run: HandlerRun, { value }: RunEnd, { consumer, observe }: Desk): RunEnd {
  const { store, maxResultBytes } = consumer
  let why: string
  let cause: unknown
  try {
    const kept = resultOf(value)
    const bytes = Buffer.byteLength(kept) - 1
    if (bytes <= maxResultBytes) return { result: 'handled', kept }
    why = `expected at most ${maxResultBytes} bytes of JSON (maxResultBytes), got ${bytes}`
  } catch (error) {
    why = describeError(error)
    cause = error
  }
  const error = new TerminalError(`what the handler returned cannot be kept: ${why}`, { cause }, 'RESULT_NOT_KEPT')
  if (store.strategy !== 'lease') return { result: 'fatal', error }
  for (const { task } of run.items) observe({ type: 'result-not-kept', key: task.key, error })
  const message = `the effect happened, but ${error.message}`
  return { result: 'handled', kept: failureOf({ name: 'ResultNotKept', message, code: error.code }) }
}

function failureFrom(error: unknown): RememberedFailure {
  const name = errorClass(error).slice(0, LONGEST_NAME)
  return { name, message: describeError(error), code: codeOf(error)?.slice(0, LONGEST_NAME) }
}

/** A getter of the user's must not throw in place of what was thrown. */
function codeOf(error: unknown): string | undefined {
  try {
    const code = (error as { readonly code?: unknown } | null | undefined)?.code
    return typeof code === 'string' ? code : undefined
  } catch {
    return undefined
  }
}
