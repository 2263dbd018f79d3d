import { describeError, errorClass, TerminalError } from '../foundation/errors.ts'

/** Under a lease `tx` is undefined, so that a function for several stores may look whether there is one. */
export interface Asked {
  askedForTransaction: boolean
}

/**
 * What a function ends with that has asked for `tx` under a lease and failed. One that takes a transaction for granted can never
 * succeed there: no attempts are spent on it.
 *
 * @param name - `ctx.tx`, as its user calls it
 */
export function withoutTransaction(name: string, error: unknown): unknown {
  // By text: a handler may throw a proxy that breaks `instanceof`.
  const text = errorClass(error) === 'TypeError' ? describeError(error) : ''
  if (!text.includes('undefined') || !/\b(?:query|execute)\b/.test(text)) return error
  return new TerminalError(noTransaction(name), { cause: error })
}

/** @param name - as of `withoutTransaction` */
export function noTransaction(name: string): string {
  return `${name}: expected a store that opens a transaction, such as postgresInbox({ pool }) or mysqlInbox({ pool }), got one of strategy lease, which has none. Take an inbox, or write through a client of your own`
}
