import { createClient, createClientPool, createCluster } from 'redis'
import { redisLease } from 'consume-once/node-redis'
import type { Store } from 'consume-once'

const client = createClient({ url: 'redis://127.0.0.1:6379' })
const cluster = createCluster({ rootNodes: [] })

// Real clients fit the slice, whatever they make of replies.
redisLease({ redis: client }) satisfies Store
redisLease({ redis: createClient({ RESP: 2 }), prefix: 'orders', shards: 64, timeoutMs: 500 }) satisfies Store
redisLease({ redis: createClientPool() }) satisfies Store
redisLease({ redis: cluster }) satisfies Store

// @ts-expect-error a client is needed
redisLease({ prefix: 'orders' })
// @ts-expect-error an address is no client: who opens one closes it
redisLease({ redis: 'redis://127.0.0.1:6379' })
// @ts-expect-error a lease is taken by the claim, not set by the store
redisLease({ redis: client, leaseMs: 1_000 })
