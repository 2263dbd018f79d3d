import type { PgQuery } from './tx/pg-transaction.ts'

/** The part of a `Pool` of `pg` that is used. */
export interface PoolLike {
  readonly options: {
    readonly max?: number | undefined
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly connectionString?: string | undefined
  }
  connect(): Promise<ClientLike>
  on(event: 'error', listener: (error: Error) => void): unknown
  listenerCount(event: 'error'): number
}

/** The part of a pool's client that is used. */
export interface ClientLike {
  /** Process ID of its backend, from the time when it connected. */
  readonly processID?: number | null | undefined
  /** A text with several statements returns a result for each. */
  query(query: PgQuery & { readonly queryMode?: 'extended' }): Promise<ClientResult | ClientResult[]>
  query(text: string, values: unknown[]): Promise<ClientResult | ClientResult[]>
  /** Returns it to the pool, or with an error removes it from the pool and closes it. */
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

export interface ClientResult {
  readonly command: string | null
  readonly rowCount: number | null
  readonly rows: unknown[]
}

/** The part of a `PGlite` that is used. */
export interface PgliteLike extends PgliteQueries {
  transaction<T>(work: (transaction: PgliteTransactionLike) => Promise<T>): Promise<T | undefined>
}

interface PgliteTransactionLike extends PgliteQueries {
  rollback(): Promise<void>
}

export interface PgliteQueries {
  query<Row>(text: string, values?: unknown[], options?: PgliteOptions): Promise<PgliteResult<Row>>
  exec(text: string, options?: PgliteOptions): Promise<PgliteResult<unknown>[]>
}

interface PgliteOptions {
  readonly parsers?: Readonly<Record<number, (text: string) => unknown>>
}

export interface PgliteResult<Row> {
  readonly rows: Row[]
  readonly affectedRows?: number
}
