import type { Flushing } from '../session.ts'
import type { Script } from './statement.ts'

/** In milliseconds. */
export interface TransactionLimits {
  readonly lockTimeoutMs: number
  readonly statementTimeoutMs: number | undefined
  readonly idleInTransactionTimeoutMs: number
}

/** `consume_once.open` goes with the transaction: the COMMIT sees by it whether a handler has ended it and begun another. */
export const OPENED = `set_config('consume_once.open', '1', true)`

/**
 * Of the store's own transactions: their reads must see what they have waited for. Those of handlers are at the level that the
 * session asks for (`default_transaction_isolation`), where what was waited for fails with 40001.
 */
export type Level = 'read committed' | 'of the session'

/**
 * Opens a transaction for `first`, all in one message. A claim waits for another owner's row only for a time; its handler
 * has the session's own `lock_timeout` again, which is kept in `consume_once.lock_timeout` meanwhile.
 */
export function begin(first: Script, limits: TransactionLimits, level: Level = 'read committed'): string {
  const { statementTimeoutMs, idleInTransactionTimeoutMs } = limits
  return `begin ${level === 'read committed' ? 'isolation level read committed ' : ''}read write;
select ${OPENED}, set_config('consume_once.lock_timeout', current_setting('lock_timeout'), true), ${waiting(limits)}, ${NARROWLY},
  ${statementTimeoutMs === undefined ? '' : `set_config('statement_timeout', '${statementTimeoutMs}', true),`}
  set_config('idle_in_transaction_session_timeout', '${idleInTransactionTimeoutMs}', true);
${first.text};
select set_config('lock_timeout', current_setting('consume_once.lock_timeout'), true), ${AS_WIDELY_AS_BEFORE}`
}

const IS_SERIALIZABLE = `current_setting('transaction_isolation') = 'serializable'`

/**
 * A serializable transaction that scans a whole table of the store, as plans of small ones do, has read all of it: each of two that
 * run beside each other would have read what the other one writes, and one of them fails (40001), whatever their handlers do.
 */
const NARROWLY = `case when ${IS_SERIALIZABLE} then concat(
  set_config('consume_once.seqscan', current_setting('enable_seqscan'), true),
  set_config('consume_once.bitmapscan', current_setting('enable_bitmapscan'), true),
  set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)) end`

/** For handlers. */
const AS_WIDELY_AS_BEFORE = `case when ${IS_SERIALIZABLE} then concat(
  set_config('enable_seqscan', current_setting('consume_once.seqscan'), true),
  set_config('enable_bitmapscan', current_setting('consume_once.bitmapscan'), true)) end`

/** Where only a crash of the server, not of the process, may forget. */
export const QUICKLY = `set_config('synchronous_commit', 'off', true)`

/** One row. */
export const WITHOUT_FLUSH: string = `select ${QUICKLY}`

/** Whatever handlers write comes after it, so that it can be taken back while their keys are held. */
export const BEFORE_HANDLERS = 'savepoint consume_once'

/** Fails with 3B001 or 25P01 where a handler has ended the transaction. */
export const WITHOUT_HANDLERS: string = `rollback to savepoint consume_once;\n${WITHOUT_FLUSH}`

/** A transaction of its own, in one message. A crash of the server may forget it. */
export function briefly(script: Script, limits: TransactionLimits): string {
  return `begin isolation level read committed read write;
${WITHOUT_FLUSH}, ${waiting(limits)};
${script.text};
commit`
}

/** The results of `briefly` in front of those of `script`. */
export const BEFORE_SCRIPT = 2

export interface OpenRow {
  readonly is_open: boolean
}

/** Locks nothing; one row. */
export const IS_OPEN: Script<OpenRow> = {
  text: `select coalesce(current_setting('consume_once.open', true), '') = '1' as is_open`,
}

function waiting({ lockTimeoutMs }: TransactionLimits): string {
  return `set_config('lock_timeout', '${lockTimeoutMs}', true)`
}

/**
 * A mark that is lost after its settle is a lost message, so whatever `synchronous_commit` a session, a role or a handler
 * has chosen, it is `on`, or stays `remote_apply`.
 */
export const DURABLY = `set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, true)`

/**
 * Before every COMMIT. Fails with 22P02 or 42704 where `consume_once.open` is not that of this transaction, and with 25P02
 * where a statement of it has failed.
 */
export function beforeCommit(flushing: Flushing): string {
  return `select current_setting('consume_once.open')::int, ${flushing === 'late' ? LATE : DURABLY}, ${NARROWLY}`
}

/** Durable by a flush that comes after. Whoever has asked for `remote_apply` waits for it here. */
const LATE = `set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'off' end, true)`
