import { LentHandle } from '../../sql/lent-handle.ts'
import type { ToldOfQueries } from '../../sql/session.ts'

/**
 * `ctx.tx` of a handler: the transaction in which the mark is written, with `query` and `execute` of `mysql2/promise`.
 */
export interface MysqlTransaction {
  /**
   * Runs a statement in the transaction. Await it before the handler ends. After a failed statement the transaction
   * accepts only `rollback to savepoint`, and is not committed without it. A statement that changes its session (`use`,
   * `set`, `get_lock`) costs the connection, which is closed after the transaction.
   *
   * @throws TransactionError `TRANSACTION_OVER` after the handler has ended, was aborted, or has ended the transaction
   * itself; and if the server has ended it because nothing was sent for `idleInTransactionTimeoutMs`
   * @throws TransactionError `COMMIT_REFUSED` after a failed statement
   * @throws TypeError for a statement that would end the transaction, also implicitly (DDL), or set `autocommit`
   */
  readonly query: RunStatement
  /** The same as a prepared statement. */
  readonly execute: RunStatement
}

type RunStatement = <Result = Record<string, unknown>[]>(
  query: string | MysqlQuery,
  values?: readonly unknown[],
) => Promise<[Result, unknown]>

/** `QueryOptions` of `mysql2`. */
export interface MysqlQuery {
  readonly sql: string
  readonly values?: unknown
  readonly [option: string]: unknown
}

/** The protocol for a handler's statement: text or prepared. */
export type SendBy = 'query' | 'execute'

/** Runs a statement of a handler. */
export type RunQuery = (by: SendBy, query: string | MysqlQuery, values?: unknown[]) => Promise<[unknown, unknown]>

/** The handle of a handler on its transaction. */
export class LentMysqlTransaction extends LentHandle<MysqlTransaction> {
  readonly tx: MysqlTransaction

  constructor(run: RunQuery, told: ToldOfQueries) {
    super(told)
    const by =
      (how: SendBy): RunStatement =>
      <Result>(query: string | MysqlQuery, values?: readonly unknown[]) =>
        this.send(
          () => problemOf(how, query),
          () => run(how, query, values === undefined ? undefined : [...values]),
        ) as Promise<[Result, unknown]>
    this.tx = Object.freeze({ query: by('query'), execute: by('execute') })
  }
}

function problemOf(by: SendBy, query: string | MysqlQuery): string | undefined {
  const sql = sqlOf(query)
  if (!ENDS_TRANSACTION.test(sql)) return undefined
  const text = `the transaction is the store's to end, got ${JSON.stringify(sql.slice(0, 80))}`
  return `ctx.tx.${by}: ${text}. Use savepoints; DDL commits, so do it elsewhere`
}

/**
 * Catches the plain forms only, for a better message; before COMMIT the store checks that the transaction is still the
 * same.
 */
const ENDS_TRANSACTION = new RegExp(
  String.raw`^\s*(?:${[
    String.raw`begin(?!\s+not\s+atomic\b)`,
    String.raw`start\s+(?:transaction|slave|replica)`,
    'commit',
    String.raw`rollback(?!\s+(?:work\s+)?to\b)`,
    'xa',
    String.raw`set\b[^]*\bautocommit`,
    String.raw`(?:un)?lock\s+tables?`,
    String.raw`(?:create|drop)(?!\s+temporary\b)`,
    'alter|rename|truncate|grant|revoke|analyze|optimize|repair|flush',
  ].join('|')})\b`,
  'i',
)

/** Undoes a failed statement, and everything after the savepoint. */
const GOES_BACK = /^\s*rollback\s+(?:work\s+)?to\b/i

export function goesBack(query: string | MysqlQuery): boolean {
  return GOES_BACK.test(sqlOf(query))
}

/** Keywords cannot be escaped. Prepared texts and procedures may contain them too. */
const MAY_USE_SAVEPOINTS = /savepoint|rollback|prepare|execute|call/i

export function mayUseSavepoints(query: string | MysqlQuery): boolean {
  return MAY_USE_SAVEPOINTS.test(sqlOf(query))
}

export function sqlOf(query: string | MysqlQuery): string {
  return typeof query === 'string' ? query : query.sql
}
