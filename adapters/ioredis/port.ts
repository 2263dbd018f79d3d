import type { RedisPort } from '../redis-lease/redis-port.ts'
import type { RedisLike } from './redis-like.ts'

export function portOf(redis: RedisLike): RedisPort {
  return {
    isCluster: redis.isCluster === true,
    run: ({ by, script, keys, words }) =>
      by === 'sha' ? redis.evalsha(script, keys, ...words) : redis.eval(script, keys, ...words),
  }
}
