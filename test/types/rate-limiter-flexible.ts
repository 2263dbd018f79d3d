import type { Cluster, Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClient, createClientPool, createCluster } from 'redis'
import { defineConsumer, RetryLaterError, type SharedLimit } from 'consume-once'
import { memoryStore } from 'consume-once/memory'
import { postgresLimit, redisLimit } from 'consume-once/rate-limiter-flexible'

declare const redis: Redis
declare const ofCluster: Cluster
const pool = new Pool()

// Real clients fit.
redisLimit({ redis, name: 'sms' }) satisfies SharedLimit
redisLimit({ redis: ofCluster, name: 'sms' }) satisfies SharedLimit
redisLimit({ redis: createClient(), name: 'sms' }) satisfies SharedLimit
redisLimit({ redis: createClientPool(), name: 'sms' }) satisfies SharedLimit
redisLimit({ redis: createCluster({ rootNodes: [] }), name: 'sms' }) satisfies SharedLimit
postgresLimit({ pool, name: 'sms', schema: 'app', table: 'limits', create: false }) satisfies SharedLimit

defineConsumer({
  name: 'sms',
  store: memoryStore(),
  limit: {
    perSecond: 50,
    burst: 5,
    by: ({ headers }) => String(headers['account']),
    shared: postgresLimit({ pool, name: 'sms' }),
  },
  handle: ({ retryAt, attempt }) => {
    if (attempt === 1) retryAt(new Date())
    throw new RetryLaterError({ afterMs: 1_000 })
  },
})

// @ts-expect-error a quota has a name
redisLimit({ redis })
// @ts-expect-error an address is no client: who opens one closes it
redisLimit({ redis: 'redis://127.0.0.1:6379', name: 'sms' })
// @ts-expect-error a rate is needed
defineConsumer({ name: 'sms', store: memoryStore(), limit: { burst: 1 }, handle: () => {} })
// @ts-expect-error a time or a date, not both
new RetryLaterError({ afterMs: 1, at: new Date() }) satisfies Error
