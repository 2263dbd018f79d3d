import type { PgQuery, PgResult } from './pg-transaction.ts'
import type { Script, Statement } from './sql/statement.ts'

/**
 * Connections of one database. Errors come as the client gives them, but for a StoreError where a connection cannot be
 * had, or where an answer stays out.
 */
export interface Sessions {
  /**
   * Opens a transaction of the store at READ COMMITTED and runs `first` in it, waiting a limited time for locks. Waits its turn
   * while too many are open. Nothing stays open when it rejects. Returns the rows of the last statement.
   */
  begin<Row>(first: Script<Row>): Promise<{ readonly session: Session; readonly rows: readonly Row[] }>
  /** As `begin`, for handlers, after attempts were counted. When it rejects with a refusal the count is taken back. */
  claim<Row, Counted>(opening: Opening<Row, Counted>): Promise<Opened<Row, Counted>>
  /** Runs a script in a transaction of its own, waiting a limited time for locks. A crash of the server may forget it. */
  briefly(script: Script): Promise<void>
  /** Runs one statement outside all transactions: committed when it resolves. */
  committed<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /**
   * Reads what is committed, and resolves when no crash of the server can undo it, whoever has committed it.
   */
  durably<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** What gives backends to connections. `undefined`: the client does not tell. */
  pooling(): Promise<Pooling | undefined>
}

/** Something between that gives a connection a backend for a statement alone lets it begin no transaction. */
export type Pooling = 'none' | 'pooled' | 'by-statement'

/**
 * How COMMITs are made durable: each by a flush of its own, or by one that comes after it, for many. Until then others see what
 * was committed, and a crash of the server undoes it.
 */
export type Flushing = 'at-once' | 'late'

/**
 * What a claim asks. All of it is one message on one connection: a transaction that waited for another connection, while all
 * connections of a pool or a pooler are held by such transactions, would wait for ever.
 */
export interface Opening<Row, Counted> {
  /** Committed before the transaction begins: it outlives whatever kills that. The rows are those of its first statement. */
  readonly count: Script<Counted>
  /** Takes the count back where the transaction could not begin. */
  readonly uncount: Script
  readonly first: Script<Row>
}

export interface Opened<Row, Counted> {
  readonly session: Session
  readonly rows: readonly Row[]
  readonly counted: readonly Counted[]
}

/** A connection with an open transaction. Over after `commit`, `rollback`, `release` or `replace`, whatever they answer. */
export interface Session {
  /** What `query` gives is a result of `pg`. */
  readonly isOfPg: boolean
  /** Why the transaction cannot be committed any more: its connection is gone, or was spoiled. */
  readonly spoiledBy: unknown
  /** Runs a statement of the store itself. */
  run<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** Commits the count, and begins again for handlers: `Sessions.claim` where nobody knows the count before keys are held. */
  reopen<Row, Counted>(opening: Opening<Row, Counted>): Promise<Omit<Opened<Row, Counted>, 'session'>>
  /** Runs a statement of a handler; its time is the handler's and the pool's own. */
  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>>
  /** Whether the transaction is still the one that was begun: a handler may have ended it, by whatever text. */
  isStillOpen(): Promise<boolean>
  /** Something may still run on the connection, or nobody knows: what ends the transaction closes it too. */
  spoil(cause: unknown): void
  /**
   * Runs `last` and commits, durably. Resolves with the tag of the COMMIT, which is `ROLLBACK` where a failed statement
   * was ignored. Rejects, without a commit, where the transaction is not the one that was begun.
   */
  commit(last: Script): Promise<string | null>
  rollback(): Promise<void>
  /**
   * Takes back what handlers wrote, runs `last` while the keys are still held, and commits: nobody who waits for a key sees it
   * without `last`. Only for what `claim` or `reopen` has begun.
   */
  release(last: Script): Promise<Released>
  /** Rolls back, then runs a statement that commits by itself, before anyone else has the connection. */
  replace<Row>(statement: Statement<Row>): Promise<readonly Row[]>
}

export type Released =
  | 'released'
  /** A handler had ended the transaction; `last` was not run. */
  | 'ended'
  /** It is rolled back, or will be when its backend finds out; `last` was not run. */
  | 'lost'
