import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { createClient } from 'redis'
import { redisLease } from '../../adapters/redis/index.ts'
import { mysqlLease } from '../../adapters/mysql2/index.ts'
import { postgresLease } from '../../adapters/pg/index.ts'
import {
  defineConsumer,
  messageId,
  type Consumer,
  type HandlerContext,
  type Message,
  type Store,
} from '../../src/index.ts'
import { messageWith } from '../../test/kit/message.ts'

/** Where a lease is, in words that another process understands. */
export type LeasePlace =
  | { readonly library: 'ioredis' | 'node-redis'; readonly url: string; readonly prefix: string }
  | { readonly library: 'pg'; readonly url: string; readonly schema: string }
  | { readonly library: 'mysql2'; readonly url: string }

export interface LeaseAt {
  readonly store: Store
  readonly close: () => Promise<unknown>
}

export async function leaseAt(place: LeasePlace): Promise<LeaseAt> {
  switch (place.library) {
    case 'ioredis': {
      const redis = new Redis(place.url)
      redis.on('error', () => {})
      return { store: redisLease({ redis, prefix: place.prefix }), close: () => redis.quit() }
    }
    case 'node-redis': {
      const redis = createClient({ url: place.url })
      redis.on('error', () => {})
      await redis.connect()
      return { store: redisLease({ redis, prefix: place.prefix }), close: () => redis.close() }
    }
    case 'pg': {
      const pool = new Pool({ connectionString: place.url, max: 2 })
      pool.on('error', () => {})
      return { store: postgresLease({ pool, schema: place.schema }), close: () => pool.end() }
    }
    case 'mysql2': {
      const pool = createPool({ uri: place.url, connectionLimit: 2 })
      return { store: mysqlLease({ pool }), close: () => pool.end() }
    }
  }
}

/** One consumer in two processes. */
export function ownerOf(store: Store, handle: (context: HandlerContext<unknown>) => unknown): Consumer {
  return defineConsumer({ name: 'owner', id: messageId.header('id'), leaseMs: 500, store, handle })
}

export const MESSAGE: Message = messageWith({ headers: { id: 'the one' } })
