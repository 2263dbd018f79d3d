import { SEQUENCES, sequencesOver, type LeaseStore, type SequenceOptions, type Table } from '../../src/internal.ts'
import { RedisLease } from './lease.ts'
import { LEASE, resolveOptions, STORE, type RedisLeaseOptions, type RedisStoreOptions } from './options.ts'

export type { RedisLike } from './clients/client.ts'
export type { IoredisLike } from './clients/ioredis-like.ts'
export type { NodeRedisLike } from './clients/node-redis-like.ts'
export type { RedisLeaseOptions, RedisStoreOptions } from './options.ts'
export {
  redisDoneChannel,
  type IoredisSubscriberLike,
  type NodeRedisSubscriberLike,
  type PublisherLike,
  type RedisDoneChannelOptions,
} from './done-channel.ts'

/**
 * Leases in Redis. If Redis loses a mark (eviction, failover, a crash without append-only file), its message becomes a
 * duplicate, never a lost message. Fences grow while the record lives, and start at 1 again after it was lost or its
 * retention ended.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisLease(options: RedisLeaseOptions): LeaseStore {
  return new RedisLease(resolveOptions('redisLease', LEASE, options).resolved)
}

export interface RedisSequencesOptions extends RedisStoreOptions, SequenceOptions {}

const STORE_SEQUENCES: Table<RedisSequencesOptions, 'queryTimeoutMs' | 'replicas' | 'durableWithinMs'> = {
  ...STORE,
  ...SEQUENCES,
}

/**
 * Leases in Redis that keep one record for each source of numbered messages, instead of one for each message that is
 * done (docs/guards.md). For consumers with `id: messageId.sourceSequence()`. It forgets in the same direction as
 * `redisLease`: what Redis loses becomes a duplicate.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisSequences(options: RedisSequencesOptions): LeaseStore {
  const { resolved, options: sequences } = resolveOptions('redisSequences', STORE_SEQUENCES, options)
  const lease = new RedisLease(resolved)
  return sequencesOver(lease, lease.sequences, { ...sequences, name: 'redis-sequences' })
}
