import type { Cluster, Redis } from 'ioredis'
import { redisLease, type RedisLike } from 'consume-once/ioredis'
import type { Store } from 'consume-once'
import type { Claim } from 'consume-once/spi'

declare const redis: Redis
declare const cluster: Cluster

// Real clients fit the slice.
redis satisfies RedisLike
cluster satisfies RedisLike
redisLease({ redis }) satisfies Store
redisLease({ redis: cluster, prefix: 'orders', shards: 64, timeoutMs: 500 }) satisfies Store

// @ts-expect-error a client is needed
redisLease({ prefix: 'orders' })
// @ts-expect-error an address is no client: who opens one closes it
redisLease({ redis: 'redis://127.0.0.1:6379' })
// @ts-expect-error a lease is taken by the claim, not set by the store
redisLease({ redis, leaseMs: 1_000 })

declare const claimed: Claim
// @ts-expect-error a lease has no transaction to write an effect in
claimed.transaction?.lend().tx.query('insert into sent')
