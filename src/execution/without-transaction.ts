import { describeError, errorClass, isConsumeOnceError, TerminalError } from '../foundation/errors.ts'
import { framesOf } from '../foundation/safe-cause.ts'

/** Under a lease `tx` is undefined, so that a function for several stores may look whether there is one. */
export interface Asked {
  askedForTransaction: boolean
}

/** How far an error of the user is searched for its cause. */
const DEEPEST = 5

/**
 * What a function ends with that has asked for `tx` under a lease and failed. One that takes a transaction for granted can never
 * succeed there: no attempts are spent on it.
 *
 * @param name - `ctx.tx`, as its user calls it
 */
export function withoutTransaction(name: string, error: unknown): unknown {
  const use = useOfNone(error)
  if (use === undefined) return error
  const told = new TerminalError(noTransaction(name), { cause: error })
  const stack = [`${told.name}: ${told.message}`, ...framesOf(use.stack, use.message)].join('\n')
  return Object.defineProperty(told, 'stack', { value: stack, writable: true, configurable: true })
}

/** The error of the line that used a transaction which is not there, also as the cause of another error. */
function useOfNone(error: unknown, depth = 0): Error | undefined {
  // An error of the library says what the handler wants.
  if (depth > DEEPEST || isConsumeOnceError(error)) return undefined
  // By text: a handler may throw a proxy that breaks `instanceof`.
  if (errorClass(error) === 'TypeError' && isUseOfNone(describeError(error))) return error as Error
  const cause = causeOf(error)
  return cause === undefined ? undefined : useOfNone(cause, depth + 1)
}

function isUseOfNone(text: string): boolean {
  return (
    (text.includes('undefined') && /\b(?:query|execute)\b/.test(text)) || text.startsWith('pgClient: expected ctx.tx')
  )
}

function causeOf(error: unknown): unknown {
  try {
    return error instanceof Error ? error.cause : undefined
  } catch {
    return undefined
  }
}

/** @param name - as of `withoutTransaction` */
export function noTransaction(name: string): string {
  return `${name}: expected a store that opens a transaction, such as postgresInbox({ pool }) or mysqlInbox({ pool }), got one of strategy lease, which has none. Take an inbox, or write through a client of your own`
}
