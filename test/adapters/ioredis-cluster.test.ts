import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Cluster, Redis } from 'ioredis'
import { redisLease, type RedisLike } from 'consume-once/ioredis'
import type { Claim } from '../../src/ports/store.ts'
import { claim, claimAll, grantedBy, hold, newDigest, newItem } from '../contract/harness.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { backends } from '../support/backends.ts'
import { startPrivateRedis } from '../support/servers/private-redis.ts'
import { server, SERVER_WITHIN_MS } from '../support/servers/server.ts'
import { redisHarness, type RedisHarness } from './redis-harness.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis('redisLease on a cluster', () => {
  let node: Awaited<ReturnType<typeof startPrivateRedis>>
  let cluster: Cluster
  beforeAll(async () => {
    node = await startPrivateRedis({ args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'] })
    const redis = new Redis(node.url)
    await redis.cluster('ADDSLOTSRANGE', 0, 16_383)
    await redis.quit()
    const { hostname, port } = new URL(node.url)
    cluster = new Cluster([{ host: hostname, port: Number(port) }], { clusterRetryStrategy: () => 50 })
    await untilWhole(cluster)
  }, SERVER_WITHIN_MS)
  afterAll(async () => {
    cluster?.disconnect()
    await node?.stop()
  })

  it('answers a batch over all shards in its order', async () => {
    const store = redisLease({ redis: cluster })
    await store.open()
    const items = Array.from({ length: 700 }, () => newItem())
    const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
    expect(claims).toMatchObject(items)
    expect(new Set(await store.mark(claims.filter((_, index) => index % 3 === 0)))).toEqual(new Set(['marked']))
    const verdicts = (await claimAll(store, items)).map(({ verdict }) => verdict)
    expect(verdicts).toEqual(items.map((_, index) => (index % 3 === 0 ? 'done' : 'busy')))
  })

  it('answers random calls of three owners as transition() says', async () => {
    await expect(
      assertLikeTransition(redisLease({ redis: cluster, prefix: 'model' }), { numRuns: 50 }),
    ).resolves.toBeUndefined()
  }, 60_000)
})

describeOnRedis('redisLease over a client of the shape of a cluster', () => {
  let harness: RedisHarness
  beforeAll(async () => {
    harness = await redisHarness((await server('redis')).url)
  }, SERVER_WITHIN_MS)
  afterAll(() => harness?.close())

  /** Keys of each script that was sent. */
  function recording(scripts: string[][]): RedisLike {
    const { redis } = harness
    return {
      isCluster: true,
      evalsha: (sha, keys, ...rest) => {
        scripts.push(rest.slice(0, keys).map(String))
        return redis.evalsha(sha, keys, ...rest)
      },
      eval: (lua, keys, ...rest) => redis.eval(lua, keys, ...rest),
      call: (command, ...words) => redis.call(command, ...words),
      pipeline: () => redis.pipeline(),
    }
  }

  it('sends each script keys of one slot, and no more than a hundred', async () => {
    const scripts: string[][] = []
    const store = redisLease({ redis: recording(scripts), prefix: harness.prefix, shards: 4 })
    const items = Array.from({ length: 1_000 }, () => newItem())
    expect((await claimAll(store, items)).map((answer) => grantedBy(answer).claim)).toMatchObject(items)
    for (const keys of scripts) {
      expect(keys.length).toBeLessThanOrEqual(100)
      expect(new Set(keys.map((key) => /\{(\d\d)\}/.exec(key)?.[1])).size).toBe(1)
    }
    for (const shard of ['00', '01', '02', '03']) {
      expect(scripts.flat().filter((key) => key.includes(`{${shard}}`)).length).toBeGreaterThan(150)
    }
  })

  it('meets the records that a single client has written, and the other way round', async () => {
    const asCluster = redisLease({ redis: recording([]), prefix: harness.prefix })
    const [ofSingle, ofCluster] = [newItem(), newItem()]
    await harness.store.mark([(await hold(harness.store, ofSingle)).claim])
    await asCluster.mark([(await hold(asCluster, ofCluster)).claim])
    expect(await claim(asCluster, ofSingle)).toEqual({ verdict: 'done' })
    expect(await claim(harness.store, ofCluster)).toEqual({ verdict: 'done' })
  })

  it('answers mixed verdicts of many shards in the order of the batch', async () => {
    const store = redisLease({ redis: recording([]), prefix: harness.prefix, shards: 16 })
    const items = Array.from({ length: 300 }, () => newItem())
    const kinds = ['done', 'given-up', 'parked', 'busy', 'conflict', 'in-doubt', 'claimed'] as const
    const kindOf = (index: number): (typeof kinds)[number] => kinds[index % kinds.length] ?? 'claimed'
    const of = (kind: (typeof kinds)[number]): typeof items => items.filter((_, index) => kindOf(index) === kind)
    const claims = async (kind: (typeof kinds)[number], leaseMs = 60_000): Promise<Claim[]> =>
      (await claimAll(store, of(kind), { leaseMs })).map((answer) => grantedBy(answer).claim)
    await store.mark(await claims('done'))
    await store.setAside(await claims('given-up'), 'given-up', 'no')
    await store.setAside(await claims('parked'), 'parked', 'wait')
    await claims('busy')
    await claims('conflict')
    await claims('in-doubt', 0)
    const asked = items.map((item, index) => (kindOf(index) === 'conflict' ? { ...item, digest: newDigest() } : item))
    const answers = await claimAll(store, asked)
    expect(answers.map(({ verdict }) => verdict)).toEqual(items.map((_, index) => kindOf(index)))
  })
})

async function untilWhole(cluster: Cluster): Promise<void> {
  for (;;) {
    try {
      if ((await cluster.set('whole', '1')) === 'OK') return
    } catch (error) {
      if (!String(error).includes('CLUSTERDOWN')) throw error
    }
  }
}
