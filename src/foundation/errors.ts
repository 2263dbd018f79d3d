import { safeCause } from './safe-cause.ts'
import { withoutSecrets } from './without-secrets.ts'

/**
 * Every error code, with its consequence. Codes are API, messages are not. Each code has a heading in docs/errors.md.
 */
export const ERROR_CODES = {
  CONFIG_INVALID: 'nothing starts',
  CONSUMER_NAME_TAKEN: 'nothing starts',
  STORE_UNREACHABLE: 'nothing is marked or settled; the consumer pauses and resumes by itself',
  STORE_AMBIGUOUS: 'nothing is marked or settled; the same call is sent again with the same token',
  STORE_MISUSED: 'the call is refused; a programming mistake in a store or a pipeline',
  BROKER_UNREACHABLE: 'nothing is settled; the source reconnects',
  BROKER_PUBLISH_REFUSED: 'the original stays unsettled; the publish is tried again',
  LEASE_LOST: 'stop effects; the mark is still tried, the store decides',
  DELIVERY_LOST: 'stop effects; the mark is still tried, the settle is refused',
  HANDLER_TIMEOUT: 'stop effects; the message is in doubt unless the handler says otherwise',
  RETRY_LATER: 'the claim is released; tried again after the time that was asked for, in the same attempt',
  NO_EFFECT: 'the claim is released and tried again',
  OUTCOME_UNKNOWN: 'the message is in doubt',
  TERMINAL: 'dead-lettered now, no more attempts',
  RESULT_NOT_KEPT:
    'inbox: nothing is committed, dead-lettered now; lease: marked, and duplicates get this error instead',
  RESULT_UNREADABLE: 'settled as duplicate; its caller gets this error in place of the result',
  FLOATING_QUERY: 'the transaction is rolled back and the message tried again',
  COMMIT_REFUSED: 'the transaction is rolled back and the message tried again',
  TRANSACTION_OVER: 'the query is refused',
  REPLAY_REFUSED: 'the replay does not start, or stops; nothing was handled that the plan does not allow',
  REPLAY_RANGE_LOST: 'the replay stops; it never skips what it could not read',
  DECODER_UNREACHABLE: 'the plan, redrive or search stops; nothing is told about a message that could not be read',
  ONCE_BUSY: 'the function was not called; another call with this key is under way: call again later',
  ONCE_CONFLICT: 'the function was not called; the key belongs to another payload',
  ONCE_SET_ASIDE: 'the function is not called with this key until a person decides about its record',
  INVARIANT_BROKEN: 'the settle is refused, and comes again; a bug of this library',
  STOPPED: 'the work is refused; it will be delivered again',
} as const

export type ErrorCode = keyof typeof ERROR_CODES

const BRAND = Symbol.for('consume-once.error')

/**
 * Base class of all errors of the library. Its brand also recognizes errors of another copy of the package in the
 * process.
 */
export abstract class ConsumeOnceError extends Error {
  abstract readonly code: ErrorCode

  constructor(message?: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    Object.defineProperty(this, BRAND, { value: true })
  }
}

/**
 * Base class of errors that carry an error of a client or server as `cause`. Such a cause may quote passwords, so only
 * a safe copy is kept.
 */
abstract class FailureError extends ConsumeOnceError {
  constructor(message?: string, options?: { readonly cause?: unknown }) {
    super(message === undefined ? undefined : withoutSecrets(message), withSafeCause(options))
  }
}

/** Base class of failures with several codes. */
abstract class CodedError<Code extends ErrorCode> extends FailureError {
  readonly code: ErrorCode

  constructor(code: Code, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

function withSafeCause(options?: { readonly cause?: unknown }): { readonly cause?: unknown } | undefined {
  if (options?.cause === undefined) return undefined
  const { cause } = options
  return { cause: isConsumeOnceError(cause) ? cause : safeCause(cause) } // mutant: cause-as-it-is
}

/**
 * The configuration is refused and nothing starts. One message lists all problems, each with the expected and the
 * actual value.
 */
export class ConfigError extends FailureError {
  override readonly name = 'ConfigError'
  readonly code: ErrorCode
  readonly problems: readonly string[]

  constructor(
    given: readonly string[],
    code: 'CONFIG_INVALID' | 'CONSUMER_NAME_TAKEN' = 'CONFIG_INVALID',
    options?: { readonly cause?: unknown },
  ) {
    // The actual value may be a URL with a password, given in the wrong place.
    const problems = given.map(withoutSecrets)
    super(
      problems.length === 1 ? problems[0] : `${problems.length} problems:\n${problems.map((p) => `- ${p}`).join('\n')}`,
      options,
    )
    this.problems = problems
    this.code = code
  }
}

/** The store is unreachable, or its answer is unknown: nothing is marked or settled. */
export class StoreError extends CodedError<'STORE_UNREACHABLE' | 'STORE_AMBIGUOUS' | 'STORE_MISUSED'> {
  override readonly name = 'StoreError'
}

/** A connection, a channel, a commit or a dead-letter confirm failed: nothing is settled. */
export class BrokerError extends CodedError<'BROKER_UNREACHABLE' | 'BROKER_PUBLISH_REFUSED'> {
  override readonly name = 'BrokerError'
}

const UNANSWERED = Symbol.for('consume-once.unanswered')

/** Marks the error of a publisher that says nothing about its message: nobody answered, or nobody takes messages now. */
export function unanswered<E extends BrokerError>(error: E): E {
  return Object.defineProperty(error, UNANSWERED, { value: true })
}

/** Whether the error of a publisher says nothing about its message. */
export function isUnanswered(error: unknown): boolean {
  if (hasCode(error, 'BROKER_UNREACHABLE') || hasCode(error, 'STOPPED')) return true
  return typeof error === 'object' && error !== null && UNANSWERED in error
}

/** The reason of `ctx.signal`: stop your effects. */
export class LeaseLostError extends ConsumeOnceError {
  override readonly name = 'LeaseLostError'
  readonly code: ErrorCode

  constructor(code: 'LEASE_LOST' | 'DELIVERY_LOST' | 'HANDLER_TIMEOUT', message: string) {
    super(message)
    this.code = code
  }
}

/** Throw it from a handler that surely had no effect and will have none. It also counts after `signal` aborted. */
export class NoEffectError extends ConsumeOnceError {
  override readonly name = 'NoEffectError'
  readonly code = 'NO_EFFECT'
}

/** Throw it from a handler whose effect may have happened. The message is then in doubt. */
export class OutcomeUnknownError extends ConsumeOnceError {
  override readonly name = 'OutcomeUnknownError'
  readonly code = 'OUTCOME_UNKNOWN'
}

/**
 * Throw it from a handler that had no effect and that another attempt cannot help. The message is dead-lettered at
 * once.
 */
export class TerminalError extends ConsumeOnceError {
  override readonly name = 'TerminalError'
  readonly code: ErrorCode

  /** @param code - the library itself uses `RESULT_NOT_KEPT` and `RESULT_UNREADABLE`. @defaultValue `TERMINAL` */
  constructor(
    message?: string,
    options?: { readonly cause?: unknown },
    code: 'TERMINAL' | 'RESULT_NOT_KEPT' | 'RESULT_UNREADABLE' = 'TERMINAL',
  ) {
    super(message, options)
    this.code = code
  }
}

/**
 * A transaction was used after its handler ended, its handler left a query pending, or the database refused the COMMIT.
 */
export class TransactionError extends CodedError<'FLOATING_QUERY' | 'COMMIT_REFUSED' | 'TRANSACTION_OVER'> {
  override readonly name = 'TransactionError'
}

/**
 * A safety rule stopped a replay or a redrive, or a server that the decoder needs did not answer. The message says which one, and what to
 * do.
 */
export class ReplayError extends CodedError<'REPLAY_REFUSED' | 'REPLAY_RANGE_LOST' | 'DECODER_UNREACHABLE'> {
  override readonly name = 'ReplayError'
}

/** `once()` did not call its function, and has no result for its caller. */
export class OnceError extends CodedError<'ONCE_BUSY' | 'ONCE_CONFLICT' | 'ONCE_SET_ASIDE'> {
  override readonly name = 'OnceError'
  /** With `ONCE_SET_ASIDE`: the reason in the record, such as `in-doubt`. */
  readonly reason: string | undefined

  constructor(code: 'ONCE_BUSY' | 'ONCE_CONFLICT' | 'ONCE_SET_ASIDE', message: string, reason?: string) {
    super(code, message)
    this.reason = reason
  }
}

/**
 * What `once()` rejects with for a duplicate of a call whose failure was remembered. `name`, `message` and `code` are
 * those of the first failure; it is not an instance of the first failure's class.
 */
export class RememberedFailureError extends Error {
  readonly code: string | undefined

  constructor({
    name,
    message,
    code,
  }: {
    readonly name: string
    readonly message: string
    readonly code?: string | undefined
  }) {
    super(message)
    this.name = name
    this.code = code
  }
}

/**
 * The library was about to send a settle that the protocol does not allow, and refused it. The message is delivered
 * again. This is a bug of the library; please report it.
 */
export class InvariantError extends ConsumeOnceError {
  override readonly name = 'InvariantError'
  readonly code = 'INVARIANT_BROKEN'

  /** @param where - file and function that found it, a string that is unique in the source */
  constructor(where: string, found: string) {
    super(`${found} (${where})`)
  }
}

/**
 * Work was offered after `stop()`, or aborted by its deadline. It is no answer to a start: a stop that somebody asked for
 * rejects no promise of one (`run/start.ts`).
 */
export class StoppedError extends ConsumeOnceError {
  override readonly name = 'StoppedError'
  readonly code = 'STOPPED'
}

/** True for an error of this library, including one of another copy of the package. */
export function isConsumeOnceError(error: unknown): error is ConsumeOnceError {
  try {
    return typeof error === 'object' && error !== null && BRAND in error
  } catch {
    // A proxy may throw here.
    return false
  }
}

/** True for an error of this library with this code, including one of another copy of the package. */
export function hasCode(error: unknown, code: ErrorCode): error is ConsumeOnceError {
  return isConsumeOnceError(error) && error.code === code
}

/** Message of any thrown value, cut at 1 KB, without passwords: users and clients can throw anything. */
export function describeError(error: unknown): string {
  const text = withoutSecrets(textOf(error).slice(0, 2 * 1024))
  return text.length > 1024 ? `${text.slice(0, 1023)}…` : text
}

/** Class name of any thrown value. */
export function errorClass(error: unknown): string {
  try {
    return error instanceof Error && typeof error.name === 'string' ? error.name : typeof error
  } catch {
    return typeof error
  }
}

/** An object without a prototype, or a message that is not a string, must not cause a second exception here. */
function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message || error.name : error)
  } catch {
    return `a thrown ${typeof error} that has no text`
  }
}
