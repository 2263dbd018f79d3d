import { sqlOf, type MysqlQuery } from '../tx/mysql-transaction.ts'

/**
 * Whether a statement has left something in its session: a setting, another database, a user variable, a temporary
 * table, a prepared statement or a lock. The server tells with each answer without rows (`session_track_state_change`, which the
 * transaction sets), also about what a procedure or a trigger did. It tells neither of locks, nor, on MariaDB, of what a SELECT has set:
 * the text has to.
 *
 * Such a connection is closed: COM_RESET_CONNECTION would keep the other database, and drop what the pool has set for its
 * connections.
 */
export function leaves(query: string | MysqlQuery, answer: unknown): boolean {
  if (LEAVING.test(sqlOf(query))) return true
  const results: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
  // Rows are not looked through: the first is a row or a result of several, and so are the others.
  if (results.length > 0 && !isResult(results[0]) && !isResult(results.at(-1))) return false
  return results.some((result) => isResult(result) && typeof result.stateChanges?.trackStateChange === 'string')
}

/** A failed statement may have done a part of its work, and the server does not tell what it has changed. */
export function mayLeave(query: string | MysqlQuery): boolean {
  const sql = sqlOf(query)
  return LEAVING.test(sql) || RUNS_MORE.test(sql)
}

/** Also the plain forms of what the server tells, for a proxy that does not pass it on. */
const LEAVING = /:=|get_lock|into\s+@|^\s*(?:set|use|prepare)\b/i

const RUNS_MORE = /\b(?:call|execute|begin)\b|;\s*\S/i

interface ResultHeader {
  readonly serverStatus: number
  readonly stateChanges?: { readonly trackStateChange?: unknown }
}

function isResult(value: unknown): value is ResultHeader {
  return typeof value === 'object' && value !== null && 'serverStatus' in value && 'affectedRows' in value
}
