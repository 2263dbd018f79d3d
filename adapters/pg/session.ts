import type { PgQuery, PgResult } from './pg-transaction.ts'
import type { Script, Statement } from './sql/statement.ts'

/**
 * Connections of one database. Errors come as the client gives them, but for a StoreError where a connection cannot be
 * had, or where an answer stays out.
 */
export interface Sessions {
  /**
   * Opens a transaction at READ COMMITTED and runs `first` in it, waiting a limited time for locks. Waits its turn while
   * too many are open. Nothing stays open when it rejects. Returns the rows of the last statement.
   */
  begin<Row>(first: Script<Row>): Promise<{ readonly session: Session; readonly rows: readonly Row[] }>
  /** Runs one statement outside all transactions: committed when it resolves. */
  committed<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /**
   * Reads what is committed, and resolves when no crash of the server can undo it, whoever has committed it. In `session` where
   * there is no other connection.
   */
  durably<Row>(statement: Statement<Row>, session: Pick<Session, 'run'>): Promise<readonly Row[]>
  /** Something between gives backends to connections. `undefined`: the client does not tell. */
  isPooled(): Promise<boolean | undefined>
}

/**
 * How COMMITs are made durable: each by a flush of its own, or by one that comes after it, for many. Until then others see what
 * was committed, and a crash of the server undoes it.
 */
export type Flushing = 'at-once' | 'late'

/** A connection with an open transaction. Over after `commit`, `rollback` or `replace`, whatever they answer. */
export interface Session {
  /** What `query` gives is a result of `pg`. */
  readonly isOfPg: boolean
  /** Why the transaction cannot be committed any more: its connection is gone, or was spoiled. */
  readonly spoiledBy: unknown
  /** Runs a statement of the store itself. */
  run<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** As `committed`, but while the transaction is open. Only before a handler has written in it. */
  beside<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** Runs a statement of a handler; its time is the handler's and the pool's own. */
  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>>
  /** Something may still run on the connection, or nobody knows: what ends the transaction closes it too. */
  spoil(cause: unknown): void
  /**
   * Runs `last` and commits, durably. Resolves with the tag of the COMMIT, which is `ROLLBACK` where a failed statement
   * was ignored. Rejects, without a commit, where the transaction is not the one that was begun.
   */
  commit(last: Script): Promise<string | null>
  /** Where `refund` can be committed before, it is: nobody can claim the keys of a transaction that is still open. */
  rollback(refund?: Statement): Promise<void>
  /** Rolls back, then runs a statement that commits by itself, before anyone else has the connection. */
  replace<Row>(statement: Statement<Row>): Promise<readonly Row[]>
}
