import type { Result } from './record.ts'

/** A failure that is the answer: what it depends on will not change, so every duplicate gets it again and nothing runs. */
export interface RememberedFailure {
  readonly name: string
  readonly message: string
  readonly code?: string | undefined
}

export type Remembered =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'failure'; readonly failure: RememberedFailure }

/** First character of a result: so that `undefined` is one, and none is empty. */
const [NOTHING, VALUE, FAILURE] = ['u', 'v', 'f'] as const
/** The same of one that is sealed: stores need to know a failure, and nothing else of it. */
const [SEALED_VALUE, SEALED_FAILURE] = ['V', 'F'] as const

/**
 * As JSON, in pure ASCII or not, but without NUL and lone surrogates: any store can keep it.
 *
 * @throws TypeError for what JSON cannot say: a function, a symbol, a bigint, a circle
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

export function isFailure(result: Result): boolean {
  return result.startsWith(FAILURE) || result.startsWith(SEALED_FAILURE)
}

/**
 * @param seal - its text stands in for the whole result
 * @throws TypeError for a text that not every store can keep, and what `seal` throws
 */
export function sealedResult(result: Result, seal: (result: Result) => unknown): Result {
  const text = seal(result)
  if (typeof text !== 'string' || text === '' || !text.isWellFormed() || text.includes('\u0000')) {
    throw new TypeError('seal: expected text, not empty, without NUL and lone surrogates')
  }
  return (isFailure(result) ? SEALED_FAILURE : SEALED_VALUE) + text
}

/** What `seal` has made of it; `undefined` where it is not sealed. */
export function sealedText(result: Result): string | undefined {
  return result.startsWith(SEALED_VALUE) || result.startsWith(SEALED_FAILURE) ? result.slice(1) : undefined
}

/** @throws TypeError for what is sealed, or was never a result. Nothing of it is in the error, which is logged */
export function readResult(result: Result): Remembered {
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
