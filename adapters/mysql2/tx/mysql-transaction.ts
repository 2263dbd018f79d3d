import { TransactionError, type LentTransaction } from '../../../src/spi.ts'

/**
 * `ctx.tx` of a handler: the transaction in which the mark is written, with `query` and `execute` of `mysql2/promise`.
 */
export interface MysqlTransaction {
  /**
   * Runs a statement in the transaction. Await it before the handler ends. After a failed statement the transaction
   * accepts only `rollback to savepoint`, and is not committed without it.
   *
   * @throws TransactionError `TRANSACTION_OVER` after the handler has ended, was aborted, or has ended the transaction
   * itself
   * @throws TransactionError `COMMIT_REFUSED` after a failed statement
   * @throws TypeError for a statement that would end the transaction, also implicitly (DDL)
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

/** A view of an open transaction for one handler. It ends with the handler. */
export class LentMysqlTransaction implements LentTransaction<MysqlTransaction> {
  readonly tx: MysqlTransaction
  readonly #run: RunQuery
  #pending = 0
  #isRevoked = false
  #hasFloated = false

  constructor(run: RunQuery) {
    this.#run = run
    const by =
      (how: SendBy): RunStatement =>
      <Result>(query: string | MysqlQuery, values?: readonly unknown[]) =>
        this.#query(how, query, values) as Promise<[Result, unknown]>
    this.tx = Object.freeze({ query: by('query'), execute: by('execute') })
  }

  /** Queries were pending when it was revoked: their effect is unknown. */
  get hasFloated(): boolean {
    return this.#hasFloated
  }

  revoke(): number {
    if (!this.#isRevoked && this.#pending > 0) this.#hasFloated = true
    this.#isRevoked = true
    return this.#pending
  }

  #query(by: SendBy, query: string | MysqlQuery, values: readonly unknown[] | undefined): Promise<[unknown, unknown]> {
    if (this.#isRevoked) {
      const text = 'ctx.tx is over: its handler has ended or was aborted. Await every query before the handler ends'
      return Promise.reject(new TransactionError('TRANSACTION_OVER', text))
    }
    const sql = sqlOf(query)
    if (ENDS_TRANSACTION.test(sql)) {
      const text = `the transaction is the store's to end, got ${JSON.stringify(sql.slice(0, 80))}`
      return Promise.reject(new TypeError(`ctx.tx.${by}: ${text}. Use savepoints; DDL commits, so do it elsewhere`))
    }
    this.#pending++
    const result = this.#run(by, query, values === undefined ? undefined : [...values]).finally(() => {
      this.#pending--
    })
    // If the handler does not await the query, FLOATING_QUERY reports it, and a rejection must not end the process as
    // unhandled.
    result.catch(() => {})
    return result
  }
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
    String.raw`set\s+(?:session\s+|@@(?:session\.)?)?autocommit`,
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

function sqlOf(query: string | MysqlQuery): string {
  return typeof query === 'string' ? query : query.sql
}
