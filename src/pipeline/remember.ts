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
import type { Services } from './services.ts'

/** Limit for name and code of a failure; `describeError` cuts its message. */
const LONGEST_NAME = 100

/** True if the consumer keeps results or failures with its marks. */
export function remembers({ rememberResult, rememberFailure }: ResolvedConsumer): boolean {
  return rememberResult || rememberFailure !== undefined
}

/**
 * Computes the result that duplicates get. It runs before the mark, because a result that cannot be kept may prevent
 * the mark.
 */
export function remember(run: HandlerRun<unknown>, end: RunEnd, services: Services): RunEnd {
  const { rememberResult, rememberFailure } = services.consumer
  if (end.result === 'handled') return rememberResult ? keepResult(run, end, services) : end
  // After an abort the error is a consequence of the abort, whatever it looks like.
  if (rememberFailure === undefined || end.result === 'unknown' || run.isAborted) return end
  const { error } = end
  let policy: 'rememberFailure' | 'sealResult' = 'rememberFailure'
  try {
    const answer: unknown = rememberFailure(error)
    if (answer !== true) return end
    policy = 'sealResult'
    return { result: 'remembered', error, kept: sealed(failureOf(failureFrom(error)), run, services) }
  } catch (thrown) {
    for (const { task } of run.items) {
      const { key, message } = task
      services.observe({ type: 'policy-threw', policy, key, message, error: thrown })
    }
    return end
  }
}

/**
 * Decrypts a kept result for `readResult`. If it cannot be read, returns a failure that says so: the effect did happen.
 */
export function openKept(
  kept: Result,
  key: Key,
  { consumer, observe }: Pick<Services, 'consumer' | 'observe'>,
): Result {
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
      // Without the text of the error, which may quote the result.
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

/** @throws any error of `seal` */
function sealed(result: Result, { items }: HandlerRun<unknown>, { consumer }: Services): Result {
  const { sealResult } = consumer
  const key = items[0]?.task.key
  return sealResult === undefined || key === undefined
    ? result
    : sealedResult(result, (text) => sealResult.seal(text, key))
}

/**
 * If the result cannot be kept, an inbox commits nothing, and the dead letter says why. Under a lease the effect has
 * happened: a release or a set-aside would repeat it sooner or later, so the message is marked with a failure instead
 * of the result.
 */
function keepResult(run: HandlerRun<unknown>, { value }: RunEnd, services: Services): RunEnd {
  const { store, maxResultBytes, sealResult } = services.consumer
  let why: string
  let cause: unknown
  try {
    const kept = sealed(resultOf(value), run, services)
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
    services.observe({ type: 'result-not-kept', key, message, error })
  }
  // This failure is stored unencrypted, so with `sealResult` it omits the error text.
  const told = `the effect happened, but ${sealResult ? 'what the handler returned cannot be kept' : error.message}`
  return { result: 'handled', kept: failureOf({ name: 'ResultNotKept', message: told, code: error.code }) }
}

function failureFrom(error: unknown): RememberedFailure {
  const name = errorClass(error).slice(0, LONGEST_NAME)
  return { name, message: describeError(error), code: codeOf(error)?.slice(0, LONGEST_NAME) }
}

/** A getter of a user's error must not cause a second exception. */
function codeOf(error: unknown): string | undefined {
  try {
    const code = (error as { readonly code?: unknown } | null | undefined)?.code
    return typeof code === 'string' ? code : undefined
  } catch {
    return undefined
  }
}
