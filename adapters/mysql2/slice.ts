import type { MysqlQuery } from './mysql-transaction.ts'

/** What is used of a pool of `mysql2/promise`. */
export interface MysqlPoolLike {
  readonly pool: { readonly config: { readonly connectionLimit?: number | undefined } }
  getConnection(): Promise<MysqlConnectionLike>
}

/** What is used of a connection that came out of a pool. */
export interface MysqlConnectionLike {
  /** `never`: mysql2 has its own type of values, which is narrower than what it takes. */
  query(query: string | MysqlQuery, values?: never[]): Promise<[unknown, unknown]>
  execute(query: string | MysqlQuery, values?: never[]): Promise<[unknown, unknown]>
  /** Back to the pool. */
  release(): void
  /** Out of the pool and closed. */
  destroy(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}
