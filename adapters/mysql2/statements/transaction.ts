import { randomBytes } from 'node:crypto'

/** In milliseconds. */
export interface TransactionLimits {
  readonly lockTimeoutMs: number
  /** 0: no limit. */
  readonly idleInTransactionTimeoutMs: number
}

/**
 * Begins a transaction at READ COMMITTED, whatever the session's isolation level and `autocommit`: gaps between keys
 * are not locked. Fails with 1568 if the connection has a transaction already. Changed session settings are kept in
 * user variables.
 */
export function begin({ lockTimeoutMs, idleInTransactionTimeoutMs }: TransactionLimits): readonly string[] {
  const idle = idleInTransactionTimeoutMs === 0 ? '@consume_once_idle' : seconds(idleInTransactionTimeoutMs)
  return [
    'set transaction isolation level read committed',
    `set @consume_once_idle = @@session.wait_timeout, @consume_once_lock_wait = @@session.innodb_lock_wait_timeout,
  @consume_once_select_limit = @@session.sql_select_limit`,
    `set session wait_timeout = ${idle}, session innodb_lock_wait_timeout = ${seconds(lockTimeoutMs)},
  session ${ALL_ROWS}`,
    'start transaction read write',
  ]
}

/** Begins the next transaction of the same message, with the limits of the first. */
export const BEGIN_NEXT: readonly string[] = [
  'set transaction isolation level read committed',
  'start transaction read write',
]

/**
 * Ends with the transaction: after a COMMIT, a ROLLBACK or a deadlock it does not exist. MySQL answers a COMMIT in the
 * same way whether it ends this transaction, another one or none.
 */
export const OPENED = 'savepoint consume_once'

/** Runs before every COMMIT. Fails with 1305 if the transaction is not the one that was opened. */
export const BEFORE_COMMIT = 'release savepoint consume_once'

/** Handlers cannot know the name, so none of them replaces the savepoint by one of its own. */
const HANDLERS = `consume_once_${randomBytes(8).toString('hex')}`

/** The handlers' writes come after it, so they can be undone while their keys are still held. */
export const BEFORE_HANDLERS: string = `savepoint ${HANDLERS}`

/**
 * Undoes the handlers' writes. Fails with 1305 if the transaction is not the one that was opened. The statements after
 * it wait for locks as the store does.
 */
export function withoutHandlers({ lockTimeoutMs }: Pick<TransactionLimits, 'lockTimeoutMs'>): readonly string[] {
  return [
    `rollback to savepoint ${HANDLERS}`,
    `set session innodb_lock_wait_timeout = ${seconds(lockTimeoutMs)}, session ${ALL_ROWS}`,
  ]
}

/** Below the savepoints of one handler. */
export const BEFORE_HANDLER = 'savepoint consume_once_handler'

/** Also releases the savepoints of the handler. Fails with 1305 if the handler has rolled back to an earlier one. */
export const RELEASE_HANDLER = 'release savepoint consume_once_handler'

/** A session may limit what a SELECT returns. The store needs every row that it asks for. */
const ALL_ROWS = 'sql_select_limit = 18446744073709551615'

/** For handlers: restores the session's own limits. */
export const WAIT_AS_BEFORE =
  'set session innodb_lock_wait_timeout = @consume_once_lock_wait, session sql_select_limit = @consume_once_select_limit'

/**
 * Restores the session settings. It runs before every COMMIT, so that nothing can fail after it, and after every
 * ROLLBACK.
 */
export const AS_BEFORE =
  'set session wait_timeout = @consume_once_idle, session innodb_lock_wait_timeout = @consume_once_lock_wait, session sql_select_limit = @consume_once_select_limit'

/**
 * Runs after handlers, because one may have made its session read-only. The store's next transaction says `read write`
 * itself; other users of the pool do not.
 */
export const WRITABLE = 'set session transaction read write'

/** The unit of both limits. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}
