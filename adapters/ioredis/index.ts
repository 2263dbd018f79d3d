import { givenOf, type Store } from '../../src/index.ts'
import { leaseOver } from '../redis-lease/lease.ts'
import { resolveOptions, type LeaseOptions } from '../redis-lease/options.ts'
import { checkClient, refuseClientAsOptions } from '../redis-lease/check-client.ts'
import { portOf } from './port.ts'
import type { RedisLike } from './redis-like.ts'

export type { LeaseOptions } from '../redis-lease/options.ts'
export type { RedisLike } from './redis-like.ts'

export interface RedisLeaseOptions extends LeaseOptions {
  /** An ioredis client, `Redis` or `Cluster`, to a primary of version 6 or newer. Yours to close. */
  readonly redis: RedisLike
}

/** Those a client is known by. */
const METHODS = ['evalsha', 'eval', 'call', 'pipeline']

/**
 * Leases in Redis. A mark that Redis loses (eviction, failover, a crash without append-only file) becomes a duplicate,
 * never a lost message. Fences grow while the record lives, and start at 1 again once it is lost or its retention ends.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisLease(options: RedisLeaseOptions): Store {
  refuseClientAsOptions(options, METHODS)
  const { redis, ...lease } = givenOf(options)
  const problems = checkClient('ioredis', redis, METHODS)
  const resolved = resolveOptions(lease, problems)
  return leaseOver(portOf(redis), resolved)
}
