import { describeError } from '../../src/internal.ts'
import { conflictText, type SqlErrors } from '../sql/errors.ts'
import { advice } from './advice.ts'

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'
const SERIALIZATION_FAILURE = '40001'
const UNIQUE_VIOLATION = '23505'
const QUERY_CANCELED = '57014'
const ADMIN_SHUTDOWN = '57P01'
const CRASH_SHUTDOWN = '57P02'

/** SQLSTATE of an error from the server; `undefined` for errors of clients and sockets. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  const { code } = error
  // No SQLSTATE class begins with E, but EPIPE and EPERM have five letters too.
  return typeof code === 'string' && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined
}

/** Another transaction holds a row for longer than `lockTimeoutMs`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === LOCK_NOT_AVAILABLE
}

/** The transaction was a deadlock victim or failed to serialize: a retry may succeed. */
export function isConflictOfTransactions(error: unknown): boolean {
  const state = sqlState(error)
  return state === DEADLOCK || state === SERIALIZATION_FAILURE
}

/** Also after another transaction has just inserted the same key. */
function mayPassAgain(error: unknown): boolean {
  return isConflictOfTransactions(error) || sqlState(error) === UNIQUE_VIOLATION
}

/** A statement of the transaction has failed: it accepts only a rollback. */
export function isFailedTransaction(error: unknown): boolean {
  return sqlState(error) === '25P02'
}

/** There is no such savepoint, or no transaction at all. */
export function isWithoutSavepoint(error: unknown): boolean {
  const state = sqlState(error)
  return state === '3B001' || state === '25P01'
}

/** A handler has undone more than its own writes, or a rollback has undone less than all of them (statements/transaction.ts). */
export function isUndone(error: unknown): boolean {
  return sqlState(error) === '3B001' || (sqlState(error) === '22P02' && describeError(error).includes('"undone"'))
}

/** The answer of pgbouncer to BEGIN with `pool_mode = statement`. It also closes the connection. */
export function isProtocolViolation(error: unknown): boolean {
  return sqlState(error) === '08P01'
}

/** No table, no schema. */
export function isBeforeTables(error: unknown): boolean {
  const state = sqlState(error)
  return state === '42P01' || state === '3F000'
}

/** The server cancelled a statement after `statement_timeout`. */
export function isCanceled(error: unknown): boolean {
  return sqlState(error) === QUERY_CANCELED
}

/** The server has ended a transaction that was idle for too long. */
export function isIdleTimeout(error: unknown): boolean {
  return sqlState(error) === '25P03'
}

/** The server has ended a transaction that took longer than its `transaction_timeout`, which Postgres has from 17 on. */
export function isTransactionTimeout(error: unknown): boolean {
  return sqlState(error) === '25P04'
}

/** The server was shut down, or another backend crashed: no handler is at fault. */
function isShutdown(error: unknown): boolean {
  const state = sqlState(error)
  return state === ADMIN_SHUTDOWN || state === CRASH_SHUTDOWN
}

/** The text contains a character that the encoding of the database lacks, or a zero byte. */
export function isUnstorable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '22P05' || state === '22021'
}

/**
 * The server refused a statement and the connection is still usable: nothing of the statement happened. Any other error
 * leaves the outcome unknown: connection exceptions (08), a terminated backend (57P), the time limits of a
 * session and a transaction (25P03, 25P04),
 * internal errors (XX), and errors that are not from the server.
 */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && !/^(?:08|57P|25P0[34]|XX)/.test(state)
}

/** Why a COMMIT was refused, in terms of a handler. */
export function explainRefusal(error: unknown): string {
  const state = sqlState(error)
  if (isConflictOfTransactions(error)) return conflictText(state === DEADLOCK, error)
  if (state === '25P02')
    return 'a statement of a handler failed and its error was swallowed. Let it reject, or use a savepoint'
  if (isUndone(error))
    return `a handler rolled back to a savepoint that it had not made itself (${describeError(error)}). Make one first`
  if (state !== '22P02' && state !== '42704') return describeError(error)
  return `a handler ended the transaction itself, by a COMMIT or ROLLBACK of its own (${describeError(error)})`
}

export const ERRORS: SqlErrors = {
  isLockTimeout,
  isConflict: isConflictOfTransactions,
  mayPassAgain,
  isShutdown,
  isRefusal,
  isUnstorable,
  advice,
  explainRefusal,
}
