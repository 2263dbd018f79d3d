import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Cluster } from 'ioredis'
import { redisLease, type IoredisLike } from 'consume-once/redis'
import type { Claim } from '../../src/ports/store.ts'
import { auditLaws } from '../../testing/contract/store/audit-laws.ts'
import { knownSinceLaws, leaseKnownSinceLaws } from '../../testing/contract/store/known-since-laws.ts'
import { replayLaws } from '../../testing/contract/store/replay-laws.ts'
import { claim, claimAll, grantedBy, hold, newDigest, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { assertLikeTransition } from '../../test/contract/store-model.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { gate } from '../../test/kit/rig.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { startPrivateRedisCluster, type PrivateRedisCluster } from '../../test/kit/servers/private-redis-cluster.ts'
import { server, SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { LIBRARIES, type UsersClient } from '../../test/redis/clients.ts'
import { redisHarness, type RedisHarness } from '../../test/redis/harness.ts'
import { untilAnswered } from '../../test/kit/eventually.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis('redisLease on a cluster of three', () => {
  let cluster: PrivateRedisCluster
  beforeAllOpen(async (own) => (cluster = own(await startPrivateRedisCluster())))

  describe.each(LIBRARIES)('by $name', (library) => {
    let client: UsersClient
    beforeAllOpen(async (own) => (client = own(await library.connectCluster(cluster.nodes.map(({ url }) => url)))))

    it.each([...auditLaws, ...replayLaws, ...knownSinceLaws, ...leaseKnownSinceLaws])(
      'over its shards $name',
      async (law) => {
        // A prefix for each law: pages of one entry would otherwise go through everything that the laws before have imported.
        const store = client.lease({ prefix: uniqueName('history') })
        await store.open()
        await expect(law.run({ store, secondStore: async () => store, close: async () => {} })).resolves.toBeUndefined()
      },
    )

    it('knows no scope since before a node has lost all its keys', async () => {
      const store = client.lease({ prefix: `lost-${library.name}` })
      const claims = await claimAll(
        store,
        Array.from({ length: 700 }, () => newItem()),
      )
      await store.mark(claims.map((answer) => grantedBy(answer).claim))
      const before = await store.admin?.knownSince?.(SCOPE)
      await withRedis(cluster.nodes[1]?.url ?? '', (redis) => redis.flushall())
      const after = await store.admin?.knownSince?.(SCOPE)
      expect(after?.at).toBeGreaterThan(before?.at ?? Number.NaN)
      expect(await store.admin?.knownSince?.(SCOPE)).toEqual(after)
    })

    it('answers a batch over all shards in its order', async () => {
      const store = client.lease()
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
        assertLikeTransition(client.lease({ prefix: library.name }), { numRuns: 50 }),
      ).resolves.toBeUndefined()
    }, 60_000)

    it('is unreachable for the shards of a node that is down, and comes back with it', async () => {
      const store = client.lease({ queryTimeoutMs: 300 })
      const items = Array.from({ length: 100 }, () => newItem())
      const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
      const [, , last] = cluster.nodes
      last?.freeze()
      await expect(store.mark(claims)).rejects.toMatchObject({ name: 'StoreError' })
      last?.thaw()
      const verdicts = new Set(await untilAnswered(() => store.mark(claims)))
      expect([...verdicts].every((verdict) => verdict === 'marked' || verdict === 'already-marked')).toBe(true)
      expect(new Set((await claimAll(store, items)).map(({ verdict }) => verdict))).toEqual(new Set(['done']))
    })
  })
})

describeOnRedis('redisLease by ioredis whose reads are to go to replicas', () => {
  /** A replica without the mark would let a done message run again. */
  it(
    'sends them nothing',
    async () => {
      const [busPort, otherBusPort] = [await freePort(), await freePort()]
      await using primary = await startNode(busPort)
      await using replica = await startNode(otherBusPort)
      const id = await withRedis(primary.url, async (redis) => {
        await redis.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
        return String(await redis.call('CLUSTER', 'MYID'))
      })
      await withRedis(replica.url, async (redis) => {
        await redis.call('CLUSTER', 'MEET', '127.0.0.1', primary.port, busPort)
        while ((await redis.call('CLUSTER', 'REPLICATE', id).catch(() => undefined)) !== 'OK') await redis.ping()
        while (!(await redis.info('replication')).includes('master_link_status:up')) await redis.ping()
      })
      await withRedis(primary.url, async (redis) => {
        while (!JSON.stringify(await redis.call('CLUSTER', 'SLOTS')).includes(String(replica.port))) await redis.ping()
      })
      const cluster = new Cluster([{ host: '127.0.0.1', port: primary.port }], { scaleReads: 'slave' })
      while (cluster.nodes('slave').length === 0) await new Promise(setImmediate)
      const store = redisLease({ redis: cluster })
      const item = newItem()
      await untilAnswered(() => store.open())
      await store.mark([(await hold(store, item)).claim])
      expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
      expect(await store.admin?.peek(SCOPE, [item.key])).toMatchObject([{ state: 'done' }])
      const asked = await withRedis(replica.url, (redis) => redis.info('commandstats'))
      expect(asked).toContain('cmdstat_info')
      expect(asked).not.toContain('cmdstat_eval')
      cluster.disconnect()
    },
    SERVER_WITHIN_MS,
  )
})

function startNode(busPort: number): Promise<PrivateRedis> {
  return startPrivateRedis({ args: ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)] })
}

describeOnRedis('redisLease over a client of the shape of a cluster', () => {
  let harness: RedisHarness
  beforeAllOpen(async (own) => (harness = own(await redisHarness((await server('redis')).url))))

  /** Keys of each script that was sent. */
  function recording(scripts: string[][]): IoredisLike {
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

  it('sends each script keys of one slot, and no more than 128', async () => {
    const scripts: string[][] = []
    const store = redisLease({ redis: recording(scripts), prefix: harness.prefix, shards: 4 })
    const items = Array.from({ length: 1_000 }, () => newItem())
    expect((await claimAll(store, items)).map((answer) => grantedBy(answer).claim)).toMatchObject(items)
    for (const keys of scripts) {
      // The records, and the time of the first claim.
      expect(keys.length).toBeLessThanOrEqual(129)
      expect(new Set(keys.map((key) => /\{(\d\d)\}/.exec(key)?.[1])).size).toBe(1)
    }
    for (const shard of ['00', '01', '02', '03']) {
      expect(scripts.flat().filter((key) => key.includes(`{${shard}}`)).length).toBeGreaterThan(150)
    }
  })

  it('reads records that a single client has written, and the other way round', async () => {
    const asCluster = redisLease({ redis: recording([]), prefix: harness.prefix })
    const [ofSingle, ofCluster] = [newItem(), newItem()]
    await harness.store.mark([(await hold(harness.store, ofSingle)).claim])
    await asCluster.mark([(await hold(asCluster, ofCluster)).claim])
    expect(await claim(asCluster, ofSingle)).toMatchObject({ verdict: 'done' })
    expect(await claim(harness.store, ofCluster)).toMatchObject({ verdict: 'done' })
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
    await store.setAside(await claims('given-up'), 'given-up', { reason: 'no' })
    await store.setAside(await claims('parked'), 'parked', { reason: 'wait' })
    await claims('busy')
    await claims('conflict')
    await claims('in-doubt', 0)
    const asked = items.map((item, index) => (kindOf(index) === 'conflict' ? { ...item, digest: newDigest() } : item))
    const answers = await claimAll(store, asked)
    expect(answers.map(({ verdict }) => verdict)).toEqual(items.map((_, index) => kindOf(index)))
  })
})

describeOnRedis('redisLease on a cluster that is being made', () => {
  it('opens as soon as the cluster is whole, by ioredis', async () => {
    const node = await startPrivateRedis({
      args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
    })
    const redis = new Cluster([{ host: '127.0.0.1', port: node.port }]).on('error', () => {})
    const closed = gate()
    redis.once('close', () => closed.open())
    try {
      const opening = redisLease({ redis, queryTimeoutMs: 15_000 }).open()
      // As ioredis has found out: "Connection is closed." is what the store is answered then.
      await closed.opened
      await withRedis(node.url, (client) => client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383'))
      await expect(opening).resolves.toBeUndefined()
    } finally {
      redis.disconnect()
      await node.stop()
    }
  }, 30_000)
})
