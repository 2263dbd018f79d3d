import { randomBytes } from 'node:crypto'
import type { Limits } from '../../sql/session.ts'

/** Whatever `completion_type` says, no transaction follows, and the connection stays. */
export const COMMIT = 'commit and no chain no release'

export const ROLLBACK = 'rollback and no chain no release'

/**
 * Limits of a session that end a transaction while its handler waits for somebody else, in seconds; 0: none.
 * `idleInTransactionTimeoutMs` replaces them.
 */
export const IDLE_LIMITS = [
  'idle_transaction_timeout',
  'idle_readonly_transaction_timeout',
  'idle_write_transaction_timeout',
] as const

export type IdleLimit = (typeof IDLE_LIMITS)[number]

/** The statements at both ends of a transaction. */
export interface Bounds {
  readonly begin: readonly string[]
  /**
   * Restores the session settings. It runs before every COMMIT, so that nothing can fail after it, and after every
   * ROLLBACK.
   */
  readonly asBefore: string
}

/**
 * `begin` opens a transaction at READ COMMITTED, whatever the session's isolation level and `autocommit`: gaps between
 * keys are not locked. It fails with 1568 if the connection has a transaction already. Changed session settings are kept
 * in user variables. The server tells of each statement whether it has changed its session (`leaves`). `lifted`: idle limits that the
 * server has, and sessions of the pool use.
 */
export function boundsOf(
  { lockTimeoutMs, idleInTransactionTimeoutMs }: Omit<Limits, 'queryTimeoutMs'>,
  lifted: readonly IdleLimit[],
): Bounds {
  const idle = idleInTransactionTimeoutMs === 0 ? undefined : seconds(idleInTransactionTimeoutMs)
  const changed: readonly (readonly [setting: string, keptIn: string, value: string | number])[] = [
    ['wait_timeout', '@consume_once_idle', idle ?? '@consume_once_idle'],
    ['innodb_lock_wait_timeout', '@consume_once_lock_wait', seconds(lockTimeoutMs)],
    ['sql_select_limit', '@consume_once_select_limit', ALL_ROWS],
    ['session_track_state_change', '@consume_once_track', 1],
    ...(idle === undefined ? [] : lifted.map((limit) => [limit, `@consume_once_${limit}`, idle] as const)),
  ]
  return {
    begin: [
      'set transaction isolation level read committed',
      `set ${changed.map(([setting, keptIn]) => `${keptIn} = @@session.${setting}`).join(', ')}`,
      `set ${changed.map(([setting, , value]) => `session ${setting} = ${value}`).join(', ')}`,
      'start transaction read write',
    ],
    asBefore: `set ${changed.map(([setting, keptIn]) => `session ${setting} = ${keptIn}`).join(', ')}`,
  }
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
export function withoutHandlers({ lockTimeoutMs }: Pick<Limits, 'lockTimeoutMs'>): readonly string[] {
  return [
    `rollback to savepoint ${HANDLERS}`,
    `set session innodb_lock_wait_timeout = ${seconds(lockTimeoutMs)}, session sql_select_limit = ${ALL_ROWS}`,
  ]
}

/** Below the savepoints of one handler. */
export const BEFORE_HANDLER = 'savepoint consume_once_handler'

/** Also releases the savepoints of the handler. Fails with 1305 if the handler has rolled back to an earlier one. */
export const RELEASE_HANDLER = 'release savepoint consume_once_handler'

/** A session may limit what a SELECT returns. The store needs every row that it asks for. */
const ALL_ROWS = '18446744073709551615'

/** For handlers: restores the session's own limits. */
export const WAIT_AS_BEFORE =
  'set session innodb_lock_wait_timeout = @consume_once_lock_wait, session sql_select_limit = @consume_once_select_limit'

/**
 * Runs after handlers, because one may have made its session read-only. The store's next transaction says `read write`
 * itself; other users of the pool do not.
 */
export const WRITABLE = 'set session transaction read write'

/** For the time of the mark, after a handler has changed its session. */
export const RIGHT_CLOCK = 'set session timestamp = default'

/** The unit of the limits. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000))
}
