import type { OutboxOptions, SqlOutbox } from '../../sql/outbox/types.ts'
import type { PoolLike } from '../clients.ts'

export interface PostgresOutboxOptions extends OutboxOptions {
  /** A `Pool` of `pg`. You close it. Its `max` must be at least 2; a relay takes up to two connections of it. */
  readonly pool: PoolLike
  /** The schema of the library's tables, as of the store. @defaultValue `consume_once` */
  readonly schema?: string
}

export type PostgresOutbox = SqlOutbox
