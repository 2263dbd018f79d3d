import { ConsumeOnceError, StoreError, describeError } from '../../src/index.ts'

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'
const SERIALIZATION_FAILURE = '40001'
const QUERY_CANCELED = '57014'
const ADMIN_SHUTDOWN = '57P01'
const CRASH_SHUTDOWN = '57P02'

/** Of an error that the server answered; `undefined` for those of clients and sockets. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  const { code } = error
  // No class of SQLSTATE begins with E, but EPIPE and EPERM have five letters too.
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined
}

/** Another transaction holds a row for longer than `lockTimeoutMs`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === LOCK_NOT_AVAILABLE
}

/** The transaction was chosen to lose: the same once more may well succeed. */
export function isConflictOfTransactions(error: unknown): boolean {
  const state = sqlState(error)
  return state === DEADLOCK || state === SERIALIZATION_FAILURE
}

/** A statement of the transaction has failed: it is open, and takes nothing but a rollback. */
export function isFailedTransaction(error: unknown): boolean {
  return sqlState(error) === '25P02'
}

/** There is no such savepoint, or no transaction at all. */
export function isWithoutSavepoint(error: unknown): boolean {
  const state = sqlState(error)
  return state === '3B001' || state === '25P01'
}

/** What pgbouncer answers to BEGIN, and ends the connection, where `pool_mode` is `statement`. */
export function isProtocolViolation(error: unknown): boolean {
  return sqlState(error) === '08P01'
}

/** The server gave up a statement after `statement_timeout`. */
export function isCanceled(error: unknown): boolean {
  return sqlState(error) === QUERY_CANCELED
}

/** The server went down, or another backend of it crashed: no handler is to blame. */
export function isShutdown(error: unknown): boolean {
  const state = sqlState(error)
  return state === ADMIN_SHUTDOWN || state === CRASH_SHUTDOWN
}

/** The text has a character that the encoding of the database has not, or a zero byte. */
export function isUnstorable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '22P05' || state === '22021'
}

/**
 * The server refused a statement and the connection lives on: surely nothing of it happened. Everything else leaves that
 * open: connection exceptions (08), a backend that was told to end (57P), a session that timed out (25P03), internal
 * errors (XX), and whatever is no answer of a server.
 */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && !/^(?:08|57P|25P03|XX)/.test(state)
}

/** Why a COMMIT was refused, in words of a handler. */
export function explainRefusal(error: unknown): string {
  const state = sqlState(error)
  if (state === '25P02')
    return 'a statement of a handler failed and its error was swallowed. Let it reject, or use a savepoint'
  if (state !== '22P02' && state !== '42704') return describeError(error)
  return `a handler ended the transaction itself, by a COMMIT or ROLLBACK of its own (${describeError(error)})`
}

/** Of a batch that was written in part: that nothing happened cannot be said of it. */
export function notAllOf(error: unknown): StoreError {
  return new StoreError('STORE_AMBIGUOUS', `a part of the batch was written: ${describeError(error)}`, { cause: error })
}

/** What a caller gets: an error of the library stays what it is. */
export function toStoreError(error: unknown, what: string): Error {
  if (error instanceof ConsumeOnceError || error instanceof TypeError) return error
  const code = isRefusal(error) ? 'STORE_UNREACHABLE' : 'STORE_AMBIGUOUS'
  return new StoreError(code, `${what}: ${describeError(error)}`, { cause: error })
}
