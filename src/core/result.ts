import type { Result } from './record.ts'

/** A failure that is the final answer: every duplicate gets it, and no handler runs again. */
export interface RememberedFailure {
  readonly name: string
  readonly message: string
  readonly code?: string | undefined
}

export type Remembered =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'failure'; readonly failure: RememberedFailure }

/** First character of a result. With it `undefined` can be kept, and no result is empty. */
const [NOTHING, VALUE, FAILURE] = ['u', 'v', 'f'] as const
/** The same for an encrypted result: stores must see whether it is a failure, and nothing else. */
const [SEALED_VALUE, SEALED_FAILURE] = ['V', 'F'] as const
/** A trace follows, then a result. A trace without a result follows `NOTHING`. */
const TRACED = 't'
const TRACE = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/
const TRACE_LENGTH = 55

/** What is kept with a mark. */
export interface Kept {
  readonly result: Result | undefined
  /** The trace of the run that had the effect, as a W3C `traceparent`. */
  readonly trace: string | undefined
}

/** @param trace - a `traceparent` of version 00; anything else is not kept */
export function withTrace(result: Result | undefined, trace: string): Result | undefined {
  if (!TRACE.test(trace)) return result
  return result === undefined ? NOTHING + trace : TRACED + trace + result
}

export function keptIn(text: Result): Kept {
  const end = 1 + TRACE_LENGTH
  if (text.startsWith(TRACED)) return { result: text.slice(end), trace: text.slice(1, end) }
  if (text.startsWith(NOTHING) && text.length === end) return { result: undefined, trace: text.slice(1) }
  return { result: text, trace: undefined }
}

/**
 * A result as JSON text without NUL and lone surrogates, so that any store can keep it.
 *
 * @throws TypeError for values without a JSON form: a function, a symbol, a bigint, a circular object
 */
export function resultOf(value: unknown): Result {
  if (value === undefined) return NOTHING
  const text = JSON.stringify(value) as string | undefined
  if (text === undefined) throw new TypeError(`a result must be something that JSON can say, got ${typeof value}`)
  return VALUE + text
}

export function failureOf({ name, message, code }: RememberedFailure): Result {
  return FAILURE + JSON.stringify({ name, message, ...(code === undefined ? {} : { code }) })
}

export function isFailure(kept: Result): boolean {
  const { result = NOTHING } = keptIn(kept)
  return result.startsWith(FAILURE) || result.startsWith(SEALED_FAILURE)
}

/**
 * @param seal - returns the text that replaces the result
 * @throws TypeError for a text that some store cannot keep, and any error of `seal`
 */
export function sealedResult(result: Result, seal: (result: Result) => unknown): Result {
  const text = seal(result)
  if (typeof text !== 'string' || text === '' || !text.isWellFormed() || text.includes('\u0000')) {
    throw new TypeError('seal: expected text, not empty, without NUL and lone surrogates')
  }
  return (isFailure(result) ? SEALED_FAILURE : SEALED_VALUE) + text
}

/** The text that `seal` returned; `undefined` if the result is not sealed. */
export function sealedText(result: Result): string | undefined {
  return result.startsWith(SEALED_VALUE) || result.startsWith(SEALED_FAILURE) ? result.slice(1) : undefined
}

/**
 * @throws TypeError if the result is sealed or is not a result. The error is logged, so it contains nothing of the
 * result
 */
export function readResult(kept: Result): Remembered {
  const { result = NOTHING } = keptIn(kept)
  const rest = result.slice(1)
  switch (result[0]) {
    case NOTHING:
      return { kind: 'value', value: undefined }
    case VALUE:
      return { kind: 'value', value: parsed(rest) }
    case FAILURE:
      return { kind: 'failure', failure: parsed(rest) as RememberedFailure }
    case undefined:
    default:
      throw new TypeError('a kept result must begin with u, v or f')
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new TypeError('a kept result must be JSON')
  }
}
