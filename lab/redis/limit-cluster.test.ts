import { describe, expect, it } from '@jest/globals'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { redisLimit, type RedisLimitClient } from 'consume-once/rate-limiter-flexible'
import { closedAfterEach } from '../../test/kit/after-each.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { startPrivateRedisCluster, type PrivateRedisCluster } from '../../test/kit/servers/private-redis-cluster.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

const closing = closedAfterEach()

interface Library {
  readonly name: string
  readonly connect: (urls: readonly string[]) => Promise<RedisLimitClient>
}

const LIBRARIES: readonly Library[] = [
  {
    name: 'ioredis',
    async connect(urls) {
      const redis = new Cluster(urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) })))
      closing.push(() => redis.disconnect())
      await redis.ping()
      return redis
    },
  },
  {
    name: 'node-redis',
    async connect(urls) {
      const redis = createCluster({ rootNodes: urls.map((url) => ({ url })) })
      closing.push(() => redis.destroy())
      await redis.on('error', () => {}).connect()
      return redis
    },
  },
]

describeOnRedis('redisLimit on a cluster of three', () => {
  let cluster: PrivateRedisCluster
  beforeAllOpen(async (own) => (cluster = own(await startPrivateRedisCluster())))

  it.each(LIBRARIES)('shares each quota over its shards, by $name', async ({ connect }) => {
    const urls = cluster.nodes.map(({ url }) => url)
    const name = uniqueName('limit')
    const [one, other] = await Promise.all(
      [1, 2].map(async () => redisLimit({ redis: await connect(urls), name }).quota(3, 100_000)),
    )
    if (one === undefined || other === undefined) throw new TypeError('two were opened')
    const keys = Array.from({ length: 30 }, (_, at) => `key-${at}`)
    const granted = await Promise.all(
      keys.map(async (key) => (await one.take(key, 2)).granted + (await other.take(key, 2)).granted),
    )
    expect(granted).toEqual(keys.map(() => 3))
    await one.holdBack('another', 60_000)
    expect((await other.take('another', 1)).granted).toBe(0)
  })
})
