import type { PgQuery, PgResult } from '../tx/pg-transaction.ts'
import type { Script, Statement } from '../statements/statement.ts'

/**
 * Connections to one database. Errors are those of the client, except a StoreError if there is no connection or no
 * answer.
 */
export interface Sessions {
  /**
   * Opens a transaction of the store at READ COMMITTED and runs `first` in it, with a lock timeout. Waits for a slot
   * while too many are open. If it rejects, nothing stays open. Returns the rows of the last statement.
   */
  begin<Row>(first: Script<Row>): Promise<{ readonly session: Session; readonly rows: readonly Row[] }>
  /** As `begin`, for handlers, after attempts were counted. If the server refuses, the count is undone. */
  claim<Row, Counted>(opening: Opening<Row, Counted>): Promise<Opened<Row, Counted>>
  /** Runs a script in a transaction of its own, with a lock timeout. A crash of the server may lose it. */
  briefly(script: Script): Promise<void>
  /** Runs one statement outside of transactions: it is committed when it resolves. */
  committed<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** Reads committed data, including that of other processes, and resolves when no crash of the server can undo it. */
  durably<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** How connections get their backends. `undefined`: the client does not say. */
  pooling(): Promise<Pooling | undefined>
}

/** `by-statement`: a pooler assigns a backend for each statement, so no transaction can begin. */
export type Pooling = 'none' | 'pooled' | 'by-statement'

/**
 * How COMMITs become durable: each with its own flush, or with a later flush for many. Until then others see the
 * commit, but a crash of the server undoes it.
 */
export type Flushing = 'at-once' | 'late'

/**
 * The statements of a claim. All are sent in one message on one connection. If a transaction waited for another
 * connection while such transactions hold all connections of a pool or pooler, it would wait for ever.
 */
export interface Opening<Row, Counted> {
  /**
   * Committed before the transaction begins, so that it survives whatever ends that. The rows are those of its first
   * statement.
   */
  readonly count: Script<Counted>
  /** Undoes the count if the transaction could not begin. */
  readonly uncount: Script
  readonly first: Script<Row>
}

export interface Opened<Row, Counted> {
  readonly session: Session
  readonly rows: readonly Row[]
  readonly counted: readonly Counted[]
}

/**
 * A connection with an open transaction. It ends with `commit`, `rollback`, `release` or `replace`, whatever they
 * answer.
 */
export interface Session {
  /** Results of `query` are those of `pg`. */
  readonly isOfPg: boolean
  /** Why the transaction can no longer be committed: its connection is gone, or was spoiled. */
  readonly spoiledBy: unknown
  /** Runs a statement of the store itself. */
  run<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /**
   * Commits the count, and begins again for handlers. It replaces `Sessions.claim` if the count is known only after
   * keys are held.
   */
  reopen<Row, Counted>(opening: Opening<Row, Counted>): Promise<Omit<Opened<Row, Counted>, 'session'>>
  /** Runs a statement of a handler, with the limits of the handler and the pool. */
  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>>
  /** True if the transaction is still the one that was begun: a handler may have ended it with any text. */
  isStillOpen(): Promise<boolean>
  /**
   * A handler has ended the transaction. What it has set (`set role`) outlives the transaction, so the connection is
   * closed and not used again.
   */
  retire(): void
  /** Something may still run on the connection: the end of the transaction closes it too. */
  spoil(cause: unknown): void
  /**
   * Runs `last` and commits, durably. Resolves with the tag of the COMMIT, which is `ROLLBACK` if a failed statement
   * was ignored. Rejects, without a commit, if the transaction is not the one that was begun.
   */
  commit(last: Script): Promise<string | null>
  rollback(): Promise<void>
  /**
   * Undoes the handlers' writes, runs `last` while the keys are still held, and commits: a waiter for a key never sees
   * it without `last`. Only for transactions of `claim` or `reopen`.
   */
  release(last: Script): Promise<Released>
  /** Rolls back, then runs a statement that commits by itself, before anybody else gets the connection. */
  replace<Row>(statement: Statement<Row>): Promise<readonly Row[]>
}

export type Released =
  | 'released'
  /** A handler had ended the transaction; `last` did not run. */
  | 'ended'
  /** It is rolled back, or will be when its backend notices; `last` did not run. */
  | 'lost'
