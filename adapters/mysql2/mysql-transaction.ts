import { TransactionError, type LentTransaction } from '../../src/index.ts'

/** What a handler gets as `ctx.tx`: the transaction that the mark is written in, in the shape of a connection of `mysql2/promise`. */
export interface MysqlTransaction {
  /**
   * Runs a statement in the transaction. It must be awaited before the handler ends. After one that failed, the transaction
   * takes nothing but `rollback to savepoint`, and is not committed without.
   *
   * @throws TransactionError `TRANSACTION_OVER` once the handler has ended or was aborted, or has ended the transaction itself
   * @throws TransactionError `COMMIT_REFUSED` after a statement that failed
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

/** How a statement of a handler is sent. */
export type SendBy = 'query' | 'execute'

/** Runs a statement of a handler. */
export type RunQuery = (by: SendBy, query: string | MysqlQuery, values?: unknown[]) => Promise<[unknown, unknown]>

/** A view of an open transaction for one handler, which ends with it. */
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

  /** Queries were pending when it was revoked: what they did belongs to no handler that could vouch for it. */
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
    // Not awaited by its handler it is told as FLOATING_QUERY, and must not end the process as an unhandled rejection.
    result.catch(() => {})
    return result
  }
}

/** A courtesy to whoever writes it plainly; the COMMIT itself checks that the transaction is still the same. */
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

/** What takes back a failed statement, and all after the savepoint. */
const GOES_BACK = /^\s*rollback\s+(?:work\s+)?to\b/i

export function goesBack(query: string | MysqlQuery): boolean {
  return GOES_BACK.test(sqlOf(query))
}

function sqlOf(query: string | MysqlQuery): string {
  return typeof query === 'string' ? query : query.sql
}
