import type { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster } from 'redis'
import { redisDoneChannel, redisLease } from 'consume-once/redis'
import type { Store } from 'consume-once'
import type { Claim, DoneChannel } from 'consume-once/spi'

declare const redis: Redis
declare const ofCluster: Cluster
const client = createClient({ url: 'redis://127.0.0.1:6379' })
const cluster = createCluster({ rootNodes: [] })

// Real clients of ioredis and node-redis fit, whatever they make of replies.
redisLease({ redis }) satisfies Store
redisLease({ redis: ofCluster, prefix: 'orders', shards: 64, queryTimeoutMs: 500 }) satisfies Store
redisLease({ redis: client, marks: 'before-handler' }) satisfies Store
redisLease({ redis: createClient({ RESP: 2 }) }) satisfies Store
redisLease({ redis: createClientPool() }) satisfies Store
redisLease({ redis: cluster }) satisfies Store
redisDoneChannel({ redis, subscriber: redis.duplicate() }) satisfies DoneChannel
redisDoneChannel({ redis: client, subscriber: client.duplicate() }) satisfies DoneChannel

// @ts-expect-error a client is needed
redisLease({ prefix: 'orders' })
// @ts-expect-error an address is no client: who opens one closes it
redisLease({ redis: 'redis://127.0.0.1:6379' })
// @ts-expect-error a lease is taken by the claim, not set by the store
redisLease({ redis, leaseMs: 1_000 })
// @ts-expect-error a store marks before the handler or after it
redisLease({ redis: client, marks: 'mark-first' })

declare const claimed: Claim
// @ts-expect-error a lease has no transaction to write an effect in
claimed.transaction?.lend().tx.query('insert into sent')
