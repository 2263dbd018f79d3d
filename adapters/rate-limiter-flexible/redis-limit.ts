import type { RateLimiterRedis } from 'rate-limiter-flexible'
import { having, hasMethod, needed, optionsOf, type SharedLimit, type Table } from '../../src/internal.ts'
import { CountedQuota, countingOf, NAME } from './counted-quota.ts'
import { isInstalled, library } from './library.ts'

/** A client of ioredis or of node-redis. */
export interface RedisLimitClient {
  eval(...given: never[]): unknown
  multi(...given: never[]): unknown
}

export interface RedisLimitOptions {
  /** A client of ioredis 5 or later or of node-redis 5 or later, of one server or of a cluster. You connect and close it. */
  readonly redis: RedisLimitClient
  /**
   * The name of the quota, such as the provider and its account: all consumers, processes and replays with this name share
   * it. They must have the same `perSecond`. 1 to 100 characters.
   */
  readonly name: string
}

const TABLE: Table<RedisLimitOptions> = {
  redis: needed(having('a client of ioredis or of node-redis', 'eval', 'multi')),
  name: needed(NAME),
}

/**
 * Shares the quota of a `limit` over Redis, by `rate-limiter-flexible`: a counter for each key and window, which expires with
 * it. If Redis loses it, the quota of one window may be spent twice.
 *
 * @throws ConfigError `CONFIG_INVALID`. A consumer with it does not start without the library
 */
export function redisLimit(options: RedisLimitOptions): SharedLimit {
  const { redis, name } = optionsOf('redisLimit', TABLE, options)
  return {
    name,
    quota: (permits, seconds) => {
      const window = { permits, seconds }
      const settings = {
        storeClient: redis,
        useRedisPackage: !hasMethod(redis, 'defineCommand'),
        // Otherwise calls wait in the client, and are counted after nobody waits for them any more.
        rejectIfRedisNotReady: true,
        ...countingOf(name, window),
      }
      let opening: Promise<RateLimiterRedis> | undefined
      return new CountedQuota(window, () => (opening ??= open(settings)))
    },
    open: isInstalled,
  }
}

async function open(settings: ConstructorParameters<typeof RateLimiterRedis>[0]): Promise<RateLimiterRedis> {
  const { RateLimiterRedis: Counter } = await library()
  return new Counter(settings)
}
