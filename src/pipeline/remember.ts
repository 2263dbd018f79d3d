import type { Key, Result } from '../core/record.ts'
import {
  failureOf,
  isFailure,
  readResult,
  resultOf,
  sealedResult,
  sealedText,
  type RememberedFailure,
} from '../core/result.ts'
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
  let policy: 'rememberFailure' | 'sealResult' = 'rememberFailure'
  try {
    const answer: unknown = rememberFailure(error)
    if (answer !== true) return end
    policy = 'sealResult'
    return { result: 'remembered', error, kept: sealed(failureOf(failureFrom(error)), run, desk) }
  } catch (thrown) {
    for (const { task } of run.items) {
      const { key, message } = task
      desk.observe({ type: 'policy-threw', policy, key, message, error: thrown })
    }
    return end
  }
}

/** What is kept, as `readResult` takes it. What cannot be read is a failure that says so: the effect did happen. */
export function openKept(kept: Result, key: Key, { consumer, observe }: Pick<Desk, 'consumer' | 'observe'>): Result {
  const text = sealedText(kept)
  if (text === undefined) return kept
  let detail = 'it is sealed, and the consumer has no sealResult'
  if (consumer.sealResult !== undefined) {
    try {
      const opened = consumer.sealResult.open(text, key)
      readResult(opened)
      if (isFailure(opened) === isFailure(kept)) return opened
      detail = 'it was sealed as something else'
    } catch (error) {
      // Not what it says: that may be the half of a result.
      detail = `it cannot be opened: ${errorClass(error)}`
    }
  }
  observe({ type: 'source', event: 'result-unreadable', detail, isWarning: true })
  return UNREADABLE
}

export const RESULT_UNREADABLE: RememberedFailure = {
  name: 'ResultUnreadable',
  message: 'the effect happened, but what is kept of it cannot be read',
  code: 'RESULT_UNREADABLE',
}

const UNREADABLE = failureOf(RESULT_UNREADABLE)

/** @throws what `seal` throws */
function sealed(result: Result, { items }: HandlerRun, { consumer }: Desk): Result {
  const { sealResult } = consumer
  const key = items[0]?.task.key
  return sealResult === undefined || key === undefined
    ? result
    : sealedResult(result, (text) => sealResult.seal(text, key))
}

/**
 * Where it cannot be kept: an inbox commits nothing, and a person reads why. Under a lease the effect has happened: to release or
 * to set aside would have it happen again, sooner or later, so it is marked, with a failure in place of the result.
 */
function keepResult(run: HandlerRun, { value }: RunEnd, desk: Desk): RunEnd {
  const { store, maxResultBytes, sealResult } = desk.consumer
  let why: string
  let cause: unknown
  try {
    const kept = sealed(resultOf(value), run, desk)
    const bytes = Buffer.byteLength(kept) - 1
    if (bytes <= maxResultBytes) return { result: 'handled', kept }
    why = `expected at most ${maxResultBytes} bytes of JSON (maxResultBytes), got ${bytes}${sealResult ? ', sealed' : ''}`
  } catch (error) {
    why = describeError(error)
    cause = error
  }
  const error = new TerminalError(`what the handler returned cannot be kept: ${why}`, { cause }, 'RESULT_NOT_KEPT')
  if (store.strategy !== 'lease') return { result: 'fatal', error }
  for (const { task } of run.items) {
    const { key, message } = task
    desk.observe({ type: 'result-not-kept', key, message, error })
  }
  // Not sealed, so without what was thrown.
  const told = `the effect happened, but ${sealResult ? 'what the handler returned cannot be kept' : error.message}`
  return { result: 'handled', kept: failureOf({ name: 'ResultNotKept', message: told, code: error.code }) }
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
