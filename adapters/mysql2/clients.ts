import type { MysqlQuery } from './tx/mysql-transaction.ts'

/** The part of a pool of `mysql2/promise` that is used. */
export interface MysqlPoolLike {
  readonly pool: {
    readonly config: {
      readonly connectionLimit?: number | undefined
      readonly connectionConfig?: {
        readonly typeCast?: unknown
        readonly database?: string | undefined
        readonly host?: string | undefined
        readonly port?: number | undefined
      }
    }
  }
  getConnection(): Promise<MysqlConnectionLike>
}

/** The part of a pool's connection that is used. */
export interface MysqlConnectionLike {
  /** `never`: mysql2 declares a narrower type of values than it accepts. */
  query(query: string | MysqlQuery, values?: never[]): Promise<[unknown, unknown]>
  execute(query: string | MysqlQuery, values?: never[]): Promise<[unknown, unknown]>
  /** Returns it to the pool. */
  release(): void
  /** Removes it from the pool and closes it. */
  destroy(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}
