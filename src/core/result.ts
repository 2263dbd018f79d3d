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
  return result.startsWith(FAILURE)
}

/** @throws TypeError for what none of the above has written */
export function readResult(result: Result): Remembered {
  const rest = result.slice(1)
  switch (result[0]) {
    case NOTHING:
      return { kind: 'value', value: undefined }
    case VALUE:
      return { kind: 'value', value: JSON.parse(rest) as unknown }
    case FAILURE:
      return { kind: 'failure', failure: JSON.parse(rest) as RememberedFailure }
    case undefined:
    default:
      throw new TypeError(`a kept result must begin with u, v or f, got ${JSON.stringify(result.slice(0, 20))}`)
  }
}
