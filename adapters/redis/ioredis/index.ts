import type { LeaseStore } from '../../../src/spi.ts'
import { leaseOn } from '../lease/lease-on.ts'
import type { LeaseOptions } from '../lease/options.ts'
import { portOf } from './port.ts'
import type { RedisLike } from './redis-like.ts'

export type { LeaseOptions } from '../lease/options.ts'
export type { RedisLike } from './redis-like.ts'

export interface RedisLeaseOptions extends LeaseOptions {
  /** An ioredis client, `Redis` or `Cluster`, connected to a primary of version 6 or newer. You close it. */
  readonly redis: RedisLike
}

/** Methods by which a client is recognised. */
const METHODS = ['evalsha', 'eval', 'call', 'pipeline']

/**
 * Leases in Redis. If Redis loses a mark (eviction, failover, a crash without append-only file), its message becomes a
 * duplicate, never a lost message. Fences grow while the record lives, and start at 1 again after it was lost or its
 * retention ended.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisLease(options: RedisLeaseOptions): LeaseStore {
  return leaseOn('ioredis', METHODS, options, portOf)
}
