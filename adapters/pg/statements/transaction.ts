import type { DurationMs } from '../../../src/internal.ts'
import type { Limits } from '../../sql/session.ts'
import type { Script } from './statement.ts'

/**
 * How COMMITs become durable: each with its own flush, or with a later flush for many. Until then others see the
 * commit, but a crash of the server undoes it.
 */
export type Flushing = 'at-once' | 'late'

export interface PgLimits extends Limits {
  readonly statementTimeoutMs: DurationMs | undefined
}

type TransactionLimits = Omit<PgLimits, 'queryTimeoutMs'>

/**
 * `consume_once.open` ends with the transaction: the COMMIT checks it to find out whether a handler has ended the
 * transaction and begun another.
 */
export const OPENED = `set_config('consume_once.open', '1', true)`

/**
 * The store's own transactions use READ COMMITTED, because their reads must see what they have waited for. Transactions
 * of handlers use the session's level (`default_transaction_isolation`), at which such a wait may fail with 40001.
 */
export type Level = 'read committed' | 'of the session'

/**
 * Opens a transaction for `first`, all in one message. The claim waits for another owner's row for a limited time. The
 * handler has the session's own `lock_timeout` again, which is kept in `consume_once.lock_timeout` meanwhile.
 */
export function begin(first: Script, limits: TransactionLimits, level: Level = 'read committed'): string {
  const { statementTimeoutMs, idleInTransactionTimeoutMs } = limits
  return `begin ${level === 'read committed' ? 'isolation level read committed ' : ''}read write;
select ${OPENED}, set_config('consume_once.role', current_setting('role'), true), set_config('consume_once.lock_timeout', current_setting('lock_timeout'), true), ${waiting(limits)}, ${NARROWLY},
  ${statementTimeoutMs === undefined ? '' : `set_config('statement_timeout', '${statementTimeoutMs}', true),`}
  set_config('idle_in_transaction_session_timeout', '${idleInTransactionTimeoutMs}', true);
${first.text};
select set_config('lock_timeout', current_setting('consume_once.lock_timeout'), true), ${AS_WIDELY_AS_BEFORE}`
}

const IS_SERIALIZABLE = `current_setting('transaction_isolation') = 'serializable'`

/**
 * Forces index scans. A serializable transaction that scans a whole table of the store, as plans for small tables do,
 * has read all of it. Of two concurrent ones, each would have read what the other writes, and one would fail (40001),
 * whatever their handlers do.
 */
const NARROWLY = `case when ${IS_SERIALIZABLE} then concat(
  set_config('consume_once.seqscan', current_setting('enable_seqscan'), true),
  set_config('consume_once.bitmapscan', current_setting('enable_bitmapscan'), true),
  set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)) end`

/** For handlers. */
const AS_WIDELY_AS_BEFORE = `case when ${IS_SERIALIZABLE} then concat(
  set_config('enable_seqscan', current_setting('consume_once.seqscan'), true),
  set_config('enable_bitmapscan', current_setting('consume_once.bitmapscan'), true)) end`

/** For writes that a crash of the server, but not of the process, may lose. */
export const QUICKLY = `set_config('synchronous_commit', 'off', true)`

/** One row. */
export const WITHOUT_FLUSH: string = `select ${QUICKLY}`

/** The handlers' writes come after it, so they can be undone while their keys are still held. */
export const BEFORE_HANDLERS: string = `savepoint consume_once;\nselect set_config('consume_once.handlers', '1', true)`

/** The statements of `BEFORE_HANDLERS`. */
export const STATEMENTS_BEFORE_HANDLERS = 2

/**
 * Undoes the handlers' writes. Fails with 3B001 or 25P01 if a handler has ended the transaction, and with 22P02 if a handler
 * has made a savepoint with the same name: the rollback stops there, and the setting that follows the store's own savepoint remains.
 */
// mutant: pg-release-unproven
export const WITHOUT_HANDLERS: string = `rollback to savepoint consume_once;
select ${orUndone("current_setting('consume_once.open', true) = '1' and coalesce(current_setting('consume_once.handlers', true), '') = ''")}, ${QUICKLY}`

/** Below the savepoints of handler number `n` of the transaction. */
export function beforeHandler(n: number): string {
  return `savepoint consume_once_handler;\nselect set_config('consume_once.handler', '${n}', true)`
}

/**
 * Releases the savepoints of handler number `n`. Fails with 3B001 or 22P02 if the handler has rolled back to a savepoint that
 * existed before it.
 */
export function releaseHandler(n: number): string {
  return `select ${orUndone(`current_setting('consume_once.handler', true) = '${n}'`)};\nrelease savepoint consume_once_handler`
}

/** Fails with 22P02 and the word `undone` if the condition is false. */
function orUndone(condition: string): string {
  return `(case when ${condition} then '0' else 'undone' end)::int`
}

/** A transaction of its own, in one message. A crash of the server may lose it. */
export function briefly(script: Script, limits: TransactionLimits): string {
  return `begin isolation level read committed read write;
${WITHOUT_FLUSH}, ${waiting(limits)};
${script.text};
commit`
}

/** Number of results of `briefly`, and of `begin`, before those of their script. */
export const BEFORE_SCRIPT = 2

export interface OpenRow {
  readonly is_open: boolean
}

/** Locks nothing; one row. */
export const IS_OPEN: Script<OpenRow> = {
  text: `select coalesce(current_setting('consume_once.open', true), '') = '1' as is_open`,
}

/** How long a claim waits for a lock, in the transaction. */
export function waiting({ lockTimeoutMs }: Pick<Limits, 'lockTimeoutMs'>): string {
  return `set_config('lock_timeout', '${lockTimeoutMs}', true)`
}

/**
 * A mark that is lost after its settle is a lost message. So `synchronous_commit` is set to `on`, or stays
 * `remote_apply`, whatever a session, a role or a handler has chosen.
 */
// mutant: pg-mark-as-the-session-likes
export const DURABLY = `set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, true)`

/**
 * A handler may have made its session read-only (`set session characteristics`), and the store's next statements would
 * fail.
 */
const WRITABLE = `set_config('default_transaction_read_only', 'off', false)`

/** After the ROLLBACK of a transaction of handlers: a handler may have committed such a setting itself. */
export const ROLLBACK_OF_HANDLERS: string = `rollback;\nselect ${WRITABLE}`

/**
 * Runs before every COMMIT. Fails with 22P02 or 42704 if `consume_once.open` is not that of this transaction, and with
 * 25P02 if a statement of it has failed.
 */
export function beforeCommit(flushing: Flushing): string {
  return `select current_setting('consume_once.open')::int, ${flushing === 'late' ? LATE : DURABLY}, ${NARROWLY}, ${WRITABLE}, ${ROLE_AS_BEFORE}` // mutant: pg-commit-of-another-transaction
}

/** A handler may have taken another role (`set local role`), which has no rights on the tables of the store. */
const ROLE_AS_BEFORE = `case when current_setting('consume_once.role', true) <> ''
  then set_config('role', current_setting('consume_once.role'), false) end`

/** A later flush makes it durable. With `remote_apply` the COMMIT itself waits. */
const LATE = `set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'off' end, true)`
