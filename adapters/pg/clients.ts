import type { PgQuery } from './pg-transaction.ts'

/** What is used of a `Pool` of `pg`. */
export interface PoolLike {
  readonly options: { readonly max?: number | undefined }
  connect(): Promise<ClientLike>
  on(event: 'error', listener: (error: Error) => void): unknown
  listenerCount(event: 'error'): number
}

/** What is used of a client that came out of a pool. */
export interface ClientLike {
  /** Of its backend, as it was told when it connected. */
  readonly processID?: number | null | undefined
  /** A text of several statements gives a result for each. */
  query(
    query: string | (PgQuery & { readonly queryMode: 'extended' }),
    values?: unknown[],
  ): Promise<ClientResult | ClientResult[]>
  /** Back to the pool, or with an error out of it and closed. */
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

export interface ClientResult {
  readonly command: string | null
  readonly rowCount: number | null
  readonly rows: unknown[]
}

/** What is used of a `PGlite`. */
export interface PgliteLike extends PgliteQueries {
  transaction<T>(work: (transaction: PgliteTransactionLike) => Promise<T>): Promise<T | undefined>
}

interface PgliteTransactionLike extends PgliteQueries {
  rollback(): Promise<void>
}

export interface PgliteQueries {
  query<Row>(text: string, values?: unknown[]): Promise<PgliteResult<Row>>
  exec(text: string): Promise<PgliteResult<unknown>[]>
}

export interface PgliteResult<Row> {
  readonly rows: Row[]
  readonly affectedRows?: number
}
