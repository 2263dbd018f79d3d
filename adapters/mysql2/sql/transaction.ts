/** In milliseconds. */
export interface TransactionLimits {
  readonly lockTimeoutMs: number
  /** 0: no limit. */
  readonly idleInTransactionTimeoutMs: number
}

/**
 * A transaction at READ COMMITTED, whatever the session's isolation and `autocommit`: gaps between keys are not locked. Fails
 * with 1568 where the connection has a transaction already. What it changes of the session is kept in user variables.
 */
export function begin({ lockTimeoutMs, idleInTransactionTimeoutMs }: TransactionLimits): readonly string[] {
  const idle = idleInTransactionTimeoutMs === 0 ? '@consume_once_idle' : seconds(idleInTransactionTimeoutMs)
  return [
    'set transaction isolation level read committed',
    `set @consume_once_idle = @@session.wait_timeout, @consume_once_lock_wait = @@session.innodb_lock_wait_timeout`,
    `set session wait_timeout = ${idle}, session innodb_lock_wait_timeout = ${seconds(lockTimeoutMs)}`,
    'start transaction read write',
  ]
}

/**
 * Goes with the transaction: after a COMMIT, a ROLLBACK or a deadlock there is none. A COMMIT of MySQL is answered alike
 * whether it ends this transaction, another or none.
 */
export const OPENED = 'savepoint consume_once'

/** Before every COMMIT. Fails with 1305 where the transaction is not the one that was opened. */
export const BEFORE_COMMIT = 'release savepoint consume_once'

/** For a handler: it waits for locks as long as its session says. */
export const WAIT_AS_BEFORE = 'set session innodb_lock_wait_timeout = @consume_once_lock_wait'

/** Before every COMMIT, so that nothing is left to fail after it, and after every ROLLBACK: the connection goes back as it came. */
export const AS_BEFORE =
  'set session wait_timeout = @consume_once_idle, session innodb_lock_wait_timeout = @consume_once_lock_wait'

/** The unit of both limits. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}
