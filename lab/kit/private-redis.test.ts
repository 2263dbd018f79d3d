import { Cluster } from 'ioredis'
import { afterEach, describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { answers, untilAnswers } from '../../test/kit/servers/answers.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { startPrivateRedisCluster } from '../../test/kit/servers/private-redis-cluster.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis('a private Redis', () => {
  const started: PrivateInstance[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((instance) => instance.stop()))
  })
  const begin = async <T extends PrivateInstance>(starting: Promise<T>): Promise<T> => {
    const instance = await starting
    started.push(instance)
    return instance
  }

  it.each(['always', 'everysec', 'no'] as const)('syncs to disk as configured: %s', async (appendfsync) => {
    const { url } = await begin(startPrivateRedis({ appendfsync }))
    const [, told] = await withRedis(url, (redis) => redis.config('GET', 'appendfsync'))
    expect(told).toBe(appendfsync)
  })

  it('has replicas, which hold its data and can take its place', async () => {
    const primary = await begin(startPrivateRedis())
    await withRedis(primary.url, (redis) => redis.set('before', '1'))
    const [one, two] = await Promise.all([0, 1].map(() => begin(startPrivateRedis({ replicaOf: primary }))))
    const received = await withRedis(primary.url, async (redis) => {
      await redis.set('after', '2')
      return redis.wait(2, 3_000)
    })
    expect(received).toBe(2)

    await primary.kill()
    await withRedis(one?.url ?? '', async (redis) => {
      expect(await redis.mget('before', 'after')).toEqual(['1', '2'])
      await expect(redis.set('after', '3')).rejects.toThrow('READONLY')
      await redis.replicaof('NO', 'ONE')
      expect(await redis.set('after', '3')).toBe('OK')
    })
    await two?.restart()
    await expect(answers('redis', two?.url ?? '')).resolves.toBeUndefined()
  })

  it('does not wait for a replica that is frozen', async () => {
    const primary = await begin(startPrivateRedis())
    const replica = await begin(startPrivateRedis({ replicaOf: primary }))
    replica.freeze()
    const received = await withRedis(primary.url, async (redis) => {
      await redis.set('note', 'here')
      return redis.wait(1, 100)
    })
    expect(received).toBe(0)
  })

  it('is a cluster of three primaries, which is whole again after a restart', async () => {
    const redis = await begin(startPrivateRedisCluster())
    expect(redis.nodes).toHaveLength(3)
    expect(redis.pids).toHaveLength(3)
    await withCluster(redis.nodes, async (cluster) => {
      const keys = Array.from({ length: 30 }, (_, index) => `key${index}`)
      await Promise.all(keys.map((key) => cluster.set(key, key)))
      const held = await Promise.all(redis.nodes.map(({ url }) => withRedis(url, (node) => node.dbsize())))
      expect(held.every((count) => count > 0)).toBe(true)
      expect(held.reduce((sum, count) => sum + count, 0)).toBe(keys.length)
    })
    await redis.kill()
    expect(redis.pids).toEqual([])
    await redis.restart()
    await withCluster(redis.nodes, async (cluster) => expect(await cluster.get('key7')).toBe('key7'))
  })

  it('of a cluster can be lost alone: its slots are down, the others stay', async () => {
    const redis = await begin(startPrivateRedisCluster({ args: ['--cluster-node-timeout', '500'] }))
    const [first, second, third] = redis.nodes
    await third?.kill()
    const down = async (): Promise<void> => {
      const state = await withRedis(first?.url ?? '', (node) => node.call('CLUSTER', 'INFO'))
      if (!String(state).includes('cluster_state:fail')) throw new Error(`still whole: ${String(state)}`)
    }
    await untilAnswers(down, { withinMs: 10_000, died: () => undefined })
    expect(second?.pids).toHaveLength(1)
    expect(redis.pids).toHaveLength(2)
  })
})

async function withCluster(nodes: readonly PrivateRedis[], act: (cluster: Cluster) => Promise<void>): Promise<void> {
  const cluster = new Cluster(nodes.map(({ port }) => ({ host: '127.0.0.1', port })))
  try {
    await act(cluster)
  } finally {
    cluster.disconnect()
  }
}
