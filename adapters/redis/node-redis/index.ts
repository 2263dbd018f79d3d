import type { LeaseStore, SequenceOptions } from '../../../src/spi.ts'
import { leaseOn, markFirstOn, sequencesOn, type MarkFirst } from '../lease/lease-on.ts'
import type { LeaseOptions } from '../lease/options.ts'
import { portOf } from './port.ts'
import type { RedisLike } from './redis-like.ts'

export type { LeaseOptions } from '../lease/options.ts'
export type { RedisLike } from './redis-like.ts'
export {
  redisDoneChannel,
  type PublisherLike,
  type RedisDoneChannelOptions,
  type SubscriberLike,
} from './done-channel.ts'

export interface RedisLeaseOptions extends LeaseOptions {
  /**
   * A connected node-redis client from `createClient()` or `createCluster()`, to a primary of version 6 or newer. You
   * close it.
   */
  readonly redis: RedisLike
}

/** Methods by which a client is recognised. */
const METHODS = ['evalSha', 'eval', 'multi', 'withTypeMapping']

/**
 * Leases in Redis. If Redis loses a mark (eviction, failover, a crash without append-only file), its message becomes a
 * duplicate, never a lost message. Fences grow while the record lives, and start at 1 again after it was lost or its
 * retention ended.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisLease(options: RedisLeaseOptions): LeaseStore {
  return leaseOn('node-redis', METHODS, options, portOf)
}

export interface RedisSequencesOptions extends RedisLeaseOptions, SequenceOptions {}

/**
 * Leases in Redis that keep one record for each source of numbered messages, instead of one for each message that is
 * done (docs/sequences.md). For consumers with `id: messageId.sourceSequence()`. It forgets in the same direction as
 * `redisLease`: what Redis loses becomes a duplicate.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisSequences(options: RedisSequencesOptions): LeaseStore {
  return sequencesOn('node-redis', METHODS, options, portOf)
}

export interface RedisSetnxOptions extends RedisLeaseOptions, MarkFirst {}

/**
 * The scheme of the textbooks: `SET key NX` with an end, before the effect. It handles a message **at most once**: if the
 * process dies after the claim, or the outcome of the handler is unknown, the message is lost, and each redelivery is
 * settled as a duplicate. A handler that throws is tried again. `leaseMs` means nothing to it. Its records are those of
 * `redisLease`, which loses no message.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisSetnx(options: RedisSetnxOptions): LeaseStore {
  return markFirstOn('node-redis', METHODS, options, portOf)
}
