import type { OutboxOptions, SqlOutbox } from '../../sql/outbox/types.ts'
import type { MysqlPoolLike } from '../clients.ts'

export interface MysqlOutboxOptions extends OutboxOptions {
  /** A pool of `mysql2/promise`. You close it. Its `connectionLimit` must be at least 2; a relay takes up to two connections. */
  readonly pool: MysqlPoolLike
  /** The database of the library's tables, as of the store. @defaultValue the `database` of the pool's configuration */
  readonly database?: string
}

export type MysqlOutbox = SqlOutbox
