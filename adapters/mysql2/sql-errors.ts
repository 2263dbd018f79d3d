import { describeError } from '../../src/internal.ts'
import { conflictText, type SqlErrors } from '../sql/errors.ts'
import { advice } from './advice.ts'

const DUPLICATE_KEY = 1062
const LOCK_WAIT_TIMEOUT = 1205
const DEADLOCK = 1213
const NO_SUCH_SAVEPOINT = 1305
const CHANGED_SINCE_READ = 1020
const SHUTDOWN = 1053
const KILLED = 1927

const NO_SUCH_TABLE = 1146

/**
 * Errors of a server after which the state of the statement or the connection is unknown: an error during commit
 * (1180), of the storage engine (1026, 1030), of unknown kind (1105), a session that was idle for too long (4031), and
 * a connection with somebody else's open transaction (1568).
 */
const UNCLEAR: ReadonlySet<number> = new Set([SHUTDOWN, KILLED, 1026, 1030, 1105, 1180, 1568, 4031])

/** The tables are not there yet. */
export function isBeforeTables(error: unknown): boolean {
  return errnoOf(error) === NO_SUCH_TABLE
}

/** Error number of an error from the server; `undefined` for errors of clients and sockets. */
export function errnoOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('sqlState' in error) || !('errno' in error)) return undefined
  return typeof error.sqlState === 'string' && typeof error.errno === 'number' ? error.errno : undefined
}

function sqlStateOf(error: unknown): string {
  return errnoOf(error) === undefined ? '' : (error as { sqlState: string }).sqlState
}

/**
 * Another transaction holds a row for longer than `lockTimeoutMs`. The statement is undone, its transaction goes on.
 */
export function isLockTimeout(error: unknown): boolean {
  return errnoOf(error) === LOCK_WAIT_TIMEOUT
}

/** Somebody has inserted the key since it was read. */
function isDuplicateKey(error: unknown): boolean {
  return errnoOf(error) === DUPLICATE_KEY
}

/** The transaction was a deadlock victim and is rolled back: a retry may succeed. */
export function isConflictOfTransactions(error: unknown): boolean {
  const errno = errnoOf(error)
  return errno === DEADLOCK || errno === CHANGED_SINCE_READ || sqlStateOf(error) === '40001'
}

/** A retry may succeed: after a deadlock, and after another transaction has just inserted the same key. */
function mayPassAgain(error: unknown): boolean {
  return isConflictOfTransactions(error) || isDuplicateKey(error)
}

/** The server was shut down, or an administrator ended the connection: no handler is at fault. */
function isShutdown(error: unknown): boolean {
  const errno = errnoOf(error)
  return errno === SHUTDOWN || errno === KILLED
}

/** The transaction is not the one that was begun: it was committed, or rolled back as a whole. */
export function isAnotherTransaction(error: unknown): boolean {
  return errnoOf(error) === NO_SUCH_SAVEPOINT
}

/**
 * The server refused a statement and the connection is still usable: nothing of the statement happened. Any other error
 * leaves the outcome unknown: connection exceptions (08), interrupted statements (70), and errors that are not from the
 * server.
 */
export function isRefusal(error: unknown): boolean {
  const errno = errnoOf(error)
  return errno !== undefined && !UNCLEAR.has(errno) && !/^(?:08|70)/.test(sqlStateOf(error))
}

/** Why a COMMIT was refused, in terms of a handler. */
export function explainRefusal(error: unknown): string {
  if (isConflictOfTransactions(error)) return conflictText(errnoOf(error) === DEADLOCK, error)
  if (!isAnotherTransaction(error)) return describeError(error)
  return (
    'a handler ended the transaction itself, by a COMMIT or ROLLBACK of its own or by a statement that commits ' +
    'implicitly (DDL, LOCK TABLES), or it rolled back to a savepoint that it had not made. Where something of it is ' +
    'committed, the message is parked'
  )
}

export const ERRORS: SqlErrors = {
  isLockTimeout,
  isConflict: isConflictOfTransactions,
  mayPassAgain,
  isShutdown,
  isRefusal,
  // Text is written as utf8mb4.
  isUnstorable: () => false,
  advice,
  explainRefusal,
}
