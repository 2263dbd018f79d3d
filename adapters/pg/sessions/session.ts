import type { Opened, Opening, Session, Sessions } from '../../sql/session.ts'
import type { PgQuery, PgResult, PgTransaction } from '../tx/pg-transaction.ts'
import type { Script, Statement } from '../statements/statement.ts'

export interface PgSessions extends Sessions<PgTransaction> {
  /** The rows are those of the last statement. */
  begin<Row>(first: Script<Row>): Promise<{ readonly session: PgSession; readonly rows: readonly Row[] }>
  /**
   * As `begin`, for handlers, after attempts were counted. `before` reads in between: the count is committed by then, so of
   * two claims that count at one moment one finds the other. If the server refuses, the count is undone.
   */
  claim(opening: PgOpening<unknown, unknown> & { readonly before?: Script | undefined }): Promise<PgClaimed>
  /** Runs one statement outside of transactions: it is committed when it resolves. */
  committed<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** Reads committed data, including that of other processes, and resolves when no crash of the server can undo it. */
  durably<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /** Runs statements as a transaction of its own, and rolls it back. */
  undone(statements: readonly Statement[]): Promise<void>
  /** As `askedUntilFine`. */
  settled<Row>(statement: Statement<Row>, isFine: (rows: readonly Row[]) => boolean): Promise<readonly Row[]>
  /** How connections get their backends. `undefined`: the client does not say. */
  pooling(): Promise<Pooling | undefined>
}

/** `by-statement`: a pooler assigns a backend for each statement, so no transaction can begin. */
export type Pooling = 'none' | 'pooled' | 'by-statement'

export type PgOpening<Row, Counted> = Opening<Script<Counted>, Script, Script<Row>>

/** With the rows of `before`, and the results of each statement of `first`. */
export interface PgClaimed {
  readonly session: PgSession
  readonly results: { readonly before: readonly unknown[]; readonly first: readonly Answer[] }
}

interface Answer {
  readonly rows: readonly unknown[]
}

export interface PgSession extends Session<PgTransaction> {
  run<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  replace<Row>(statement: Statement<Row>): Promise<readonly Row[]>
  /**
   * Commits the count, and begins again for handlers. It replaces `PgSessions.claim` if the count is known only after
   * keys are held.
   */
  reopen<Row, Counted>(opening: PgOpening<Row, Counted>): Promise<Omit<Opened<PgSession, Row, Counted>, 'session'>>
  /** Runs a statement of a handler, with the limits of the handler and the pool. */
  query(query: string | PgQuery, values?: unknown[]): Promise<PgResult<unknown>>
  /**
   * What a handler has set (`set role`) may outlive the transaction, so the connection is closed after it, and goes to
   * nobody else.
   */
  retire(): void
  /** A handler has changed what the next one would run with. */
  changed(): void
}
