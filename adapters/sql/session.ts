import type { DurationMs, LentTransaction, TransactionError } from '../../src/internal.ts'
import type { SqlErrors } from './errors.ts'

/** Statements in the SQL of one adapter, which makes and runs them. */
export interface Script<Row = unknown> {
  /** Type of the rows of the last statement that returns any; never set. */
  readonly returns?: Row
}

export interface Limits {
  readonly lockTimeoutMs: DurationMs
  readonly queryTimeoutMs: DurationMs
  /** 0: no limit. */
  readonly idleInTransactionTimeoutMs: DurationMs
}

/**
 * Connections to one database. Errors are those of the client, except a StoreError if there is no connection or no
 * answer.
 */
export interface Sessions<Tx = unknown> {
  readonly errors: SqlErrors
  /**
   * Opens a transaction of the store at READ COMMITTED and runs `first` in it, with a lock timeout. Waits for a slot
   * while too many are open. If it rejects, nothing stays open.
   */
  begin<Row>(first: Script<Row>): Promise<{ readonly session: Session<Tx>; readonly rows: readonly Row[] }>
  /** Runs one script that commits by itself: it is committed when it resolves. */
  committed<Row>(script: Script<Row>): Promise<readonly Row[]>
  /** Runs a script in a transaction of its own, with a lock timeout. A crash of the server may lose it. */
  briefly(script: Script): Promise<void>
}

/**
 * The statements of a claim. All are sent in one message on one connection, where the server takes that. If a transaction
 * waited for another connection while such transactions hold all connections of a pool or pooler, it would wait for ever.
 */
export interface Opening<Count extends Script, Uncount extends Script, First extends Script> {
  /** Committed before the transaction begins, so that it survives whatever ends that. Answers with its first rows. */
  readonly count: Count
  /** Undoes the count if the transaction could not begin. */
  readonly uncount: Uncount
  readonly first: First
}

export interface Opened<Open, Row, Counted> {
  readonly session: Open
  readonly rows: readonly Row[]
  readonly counted: readonly Counted[]
}

/** A connection with an open transaction. It ends with `commit`, `rollback`, `release` or `replace`, whatever they answer. */
export interface Session<Tx = unknown> {
  /** Why the transaction can no longer be committed: its connection is gone, or was spoiled. */
  readonly spoiledBy: unknown
  /** Why it must not be committed, if the server would commit it all the same. */
  readonly failure: TransactionError | undefined
  /** A handler has changed what the statements of others run with, for the transaction or for longer. */
  readonly isChanged: boolean
  /** A handle for one handler. */
  lend(told: ToldOfQueries): Lent<Tx>
  /** Something may still run on the connection: the end of the transaction closes it too. */
  spoil(cause: unknown): void
  /** Runs statements of the store itself. */
  run<Row>(script: Script<Row>): Promise<readonly Row[]>
  /**
   * Runs `last` and commits, durably. `rolled back`: a failed statement was ignored. Rejects, without a commit, if the
   * transaction is not the one that was begun. After any error that is not a refusal it is unknown whether it was
   * committed.
   */
  commit(last: readonly Script[]): Promise<'committed' | 'rolled back'>
  /** Then runs `last`, which commits by itself and which a crash of the server may lose. Not if the connection is gone. */
  rollback(last?: Script): Promise<void>
  /**
   * Undoes the handlers' writes, runs `last` while the keys are still held, and commits: a waiter for a key never sees
   * it without `last`. Only for transactions of claims.
   */
  release(last: readonly Script[]): Promise<Released>
  /** Rolls back, then runs a script that commits by itself, before anybody else gets the connection. */
  replace<Row>(script: Script<Row>): Promise<readonly Row[]>
}

export type Released =
  | 'released'
  /** A handler had ended the transaction; `last` did not run. */
  | 'ended'
  /** It is rolled back, or will be when its backend notices; `last` did not run. */
  | 'lost'

/** Callbacks for the queries of handlers. */
export interface ToldOfQueries {
  readonly onFailed: (error: unknown) => void
  /** Why a query that was under way at the end of its handler counts for nothing. `undefined`: it counts. */
  readonly floated: (cause?: unknown) => Error | undefined
  /** A query was refused because its handler had ended. */
  readonly onLate: () => void
}

export interface Lent<Tx> extends LentTransaction<Tx> {
  /** Queries were pending when it was revoked, or an ORM's query came after that: their effect is unknown. */
  readonly hasFloated: boolean
}
