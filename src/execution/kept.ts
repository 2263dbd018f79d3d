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
import { atOnce } from '../foundation/at-once.ts'
import { TerminalError, describeError, errorClass } from '../foundation/errors.ts'
import type { ResolvedConsumer } from '../consumer/resolve-options.ts'
import type { RunEnd } from './run-end.ts'

/** Limit for name and code of a failure; `describeError` cuts its message. */
const LONGEST_NAME = 100

/** What is kept with a mark, for the duplicates. */
export type Keeping = Pick<ResolvedConsumer, 'rememberResult' | 'rememberFailure' | 'maxResultBytes' | 'sealResult'>

/** What the user's functions did that concerns nobody else: no run fails because of it. */
export interface KeepingTold {
  policyThrew(policy: 'rememberFailure' | 'sealResult', error: unknown): void
  notKept(error: TerminalError): void
}

interface Run {
  /** It is bound to a sealed result. */
  readonly key: Key
  readonly isAborted: boolean
  /** Its effect can still be rolled back. */
  readonly isInTransaction: boolean
}

/** Something is kept with each mark. */
export function remembers({ rememberResult, rememberFailure }: Keeping): boolean {
  return rememberResult || rememberFailure !== undefined
}

const RETURN_A_BOOLEAN = 'decide by the error alone, and return true or false'
const SEAL_AT_ONCE = 'use functions of node:crypto that answer at once, and load keys before the start'

/**
 * Computes the result that duplicates get. It runs before the mark, because a result that cannot be kept may prevent
 * the mark.
 */
export function remember(end: RunEnd, run: Run, keeping: Keeping, told: KeepingTold): RunEnd {
  const { rememberResult, rememberFailure } = keeping
  if (end.result === 'handled') return rememberResult ? keepResult(end, run, keeping, told) : end
  // After an abort the error is a consequence of the abort, whatever it looks like.
  if (rememberFailure === undefined || end.result === 'unknown' || end.result === 'later' || run.isAborted) return end
  const { error } = end
  let policy: 'rememberFailure' | 'sealResult' = 'rememberFailure'
  try {
    const answer: unknown = atOnce('rememberFailure', rememberFailure(error), RETURN_A_BOOLEAN)
    if (answer !== true) return end
    policy = 'sealResult'
    return { result: 'remembered', error, kept: sealed(failureFrom(error), run.key, keeping) }
  } catch (thrown) {
    told.policyThrew(policy, thrown)
    return end
  }
}

/**
 * If the result cannot be kept, a transaction commits nothing, and the dead letter says why. Under a lease the effect has
 * happened: a release or a set-aside would repeat it sooner or later, so the message is marked with a failure instead
 * of the result.
 */
function keepResult({ value, skipped }: RunEnd, run: Run, keeping: Keeping, told: KeepingTold): RunEnd {
  try {
    return { result: 'handled', kept: keptValue(value, run.key, keeping), skipped }
  } catch (thrown) {
    const error = thrown as TerminalError
    if (run.isInTransaction) return { result: 'fatal', error }
    told.notKept(error)
    return { result: 'handled', kept: notKept(error, keeping), error }
  }
}

/**
 * Decrypts a kept result for `readResult`. If it cannot be read, returns a failure that says so: the effect did happen.
 */
export function openKept(
  kept: Result,
  key: Key,
  { sealResult }: Pick<Keeping, 'sealResult'>,
  /** Told why it cannot be read. */
  unreadable?: (detail: string) => void,
): Result {
  const text = sealedText(kept)
  if (text === undefined) return kept
  let detail = 'it is sealed, and the consumer has no sealResult'
  if (sealResult !== undefined) {
    try {
      const opened = atOnce('sealResult.open', sealResult.open(text, key), SEAL_AT_ONCE)
      readResult(opened)
      if (isFailure(opened) === isFailure(kept)) return opened
      detail = 'it was sealed as something else'
    } catch (error) {
      // Without the text of the error, which may quote the result.
      detail = `it cannot be opened: ${errorClass(error)}`
    }
  }
  unreadable?.(detail)
  return UNREADABLE
}

export const RESULT_UNREADABLE: RememberedFailure = {
  name: 'ResultUnreadable',
  message: 'the effect happened, but what is kept of it cannot be read',
  code: 'RESULT_UNREADABLE',
}

const UNREADABLE = failureOf(RESULT_UNREADABLE)

/** @throws any error of `seal` */
function sealed(result: Result, key: Key, { sealResult }: Pick<Keeping, 'sealResult'>): Result {
  return sealResult === undefined
    ? result
    : sealedResult(result, (text) => atOnce('sealResult.seal', sealResult.seal(text, key), SEAL_AT_ONCE))
}

/** A value as the text to keep with its mark. @throws TerminalError `RESULT_NOT_KEPT` */
function keptValue(value: unknown, key: Key, limits: Pick<Keeping, 'maxResultBytes' | 'sealResult'>): Result {
  const { maxResultBytes, sealResult } = limits
  let why: string
  let cause: unknown
  try {
    const kept = sealed(resultOf(value), key, limits)
    const bytes = Buffer.byteLength(kept) - 1
    if (bytes <= maxResultBytes) return kept
    why = `expected at most ${maxResultBytes} bytes of JSON (maxResultBytes), got ${bytes}${sealResult ? ', sealed' : ''}`
  } catch (error) {
    why = describeError(error)
    cause = error
  }
  throw new TerminalError(`what the handler returned cannot be kept: ${why}`, { cause }, 'RESULT_NOT_KEPT')
}

/**
 * The failure that duplicates get in place of a result that could not be kept. It is stored unencrypted, so with
 * `sealResult` it omits the error text.
 */
function notKept(error: TerminalError, { sealResult }: Pick<Keeping, 'sealResult'>): Result {
  const told = `the effect happened, but ${sealResult ? 'what the handler returned cannot be kept' : error.message}`
  return failureOf({ name: 'ResultNotKept', message: told, code: error.code })
}

/** The failure of a thrown value, as text to keep with its mark. */
function failureFrom(error: unknown): Result {
  const name = errorClass(error).slice(0, LONGEST_NAME)
  return failureOf({ name, message: describeError(error), code: codeOf(error)?.slice(0, LONGEST_NAME) })
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
