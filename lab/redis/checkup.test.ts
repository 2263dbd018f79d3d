import { describe, expect, it, jest } from '@jest/globals'
import type { RedisLeaseOptions } from 'consume-once/redis'
import type { CheckFinding } from '../../src/ports/checkup.ts'
import type { Store } from '../../src/ports/store.ts'
import { backends } from '../../test/kit/backends.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import { startPrivateRedisCluster } from '../../test/kit/servers/private-redis-cluster.ts'
import { startPrivateRedis, type PrivateRedis, type PrivateRedisOptions } from '../../test/kit/servers/private-redis.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { IOREDIS, LIBRARIES } from '../../test/redis/clients.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

type Verdicts = Readonly<Record<string, CheckFinding['verdict']>>

describeOnRedis('The checkup of redisLease finds', () => {
  it.each<readonly [string, PrivateRedisOptions, Omit<RedisLeaseOptions, 'redis'>, Verdicts]>([
    ['nothing to say of a safe server', { appendfsync: 'always' }, {}, {}],
    [
      'eviction',
      { appendfsync: 'always', args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] },
      {},
      { 'redis.eviction': 'broken' },
    ],
    [
      'eviction that waits for a limit',
      { appendfsync: 'always', args: ['--maxmemory-policy', 'volatile-ttl'] },
      {},
      { 'redis.eviction': 'weaker' },
    ],
    [
      'a server that is full, by a claim',
      { appendfsync: 'always', args: ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'] },
      {},
      { 'redis.claim': 'broken' },
    ],
    ['nothing on disk', { args: ['--appendonly', 'no'] }, {}, { 'redis.append-only-file': 'broken' }],
    [
      'snapshots without an append-only file',
      { args: ['--appendonly', 'no', '--save', '3600 1'] },
      {},
      { 'redis.append-only-file': 'weaker' },
    ],
    ['a sync once a second', { appendfsync: 'everysec' }, {}, { 'redis.append-only-file': 'weaker' }],
    ['no sync', { appendfsync: 'no' }, {}, { 'redis.append-only-file': 'weaker' }],
    [
      'replicas that are missing',
      { appendfsync: 'always' },
      { durability: 'replicas' },
      { 'redis.replicas': 'broken' },
    ],
    [
      'a server whose word on its disk is worth nothing',
      { version: 'valkey-9', appendfsync: 'everysec' },
      { durability: 'fsync' },
      { 'redis.append-only-file': 'broken' },
    ],
    ['nothing to say of marks on disk', { version: '8.0', appendfsync: 'everysec' }, { durability: 'fsync' }, {}],
    [
      'a node of a cluster behind the client of one server',
      { appendfsync: 'always', args: ['--cluster-enabled', 'yes'] },
      {},
      { 'redis.mode': 'broken' },
    ],
  ])(
    '%s',
    async (_title, server, options, expected) => {
      await using redis = await startPrivateRedis(server)
      await using client = await IOREDIS.connect(redis.url)
      expect(verdictsOf(await findingsOf(client.lease(options)))).toEqual(expected)
    },
    SERVER_WITHIN_MS,
  )

  it.each<readonly [string, Verdicts]>([
    ['-config', { 'redis.append-only-file': 'unknown' }],
    ['-info', { 'redis.info': 'unknown' }],
    ['-info -config', { 'redis.info': 'unknown' }],
  ])('as unknown what a user with the rights %s may not read', async (rights, expected) => {
    await using redis = await startPrivateRedis({ appendfsync: 'always' })
    for (const { connect } of LIBRARIES) {
      await using client = await connect(await urlOfUserWith(redis, rights))
      const store = client.lease()
      await store.open()
      expect(verdictsOf(await findingsOf(store))).toEqual(expected)
    }
  })

  it('that a restart forgets every mark, and only where it may look at CONFIG', async () => {
    await using redis = await startPrivateRedis({ args: ['--appendonly', 'no'] })
    for (const { connect } of LIBRARIES) {
      await using client = await connect(redis.url)
      expect(await findingsOf(client.lease())).toContainEqual({
        check: 'redis.append-only-file',
        verdict: 'broken',
        found: 'appendonly no, save ""',
        meaning: expect.stringContaining('a restart forgets every mark'),
        startsBecause: expect.stringContaining('before the server restarts'),
      })
      await using limited = await connect(await urlOfUserWith(redis, '-config'))
      expect(verdictsOf(await findingsOf(limited.lease()))).toEqual({ 'redis.append-only-file': 'unknown' })
    }
  })

  it('keys that were evicted', async () => {
    await using redis = await startPrivateRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] })
    await using client = await IOREDIS.connect(redis.url)
    await withRedis(redis.url, async (server) => {
      await server.set('key', 'x'.repeat(100_000))
      await server.config('SET', 'maxmemory', '1')
      // The server now drops what it has, and takes nothing new.
      await server.set('another', 'y').catch(() => {})
    })
    const findings = await findingsOf(client.lease())
    expect(findings).toContainEqual({
      check: 'redis.evicted',
      verdict: 'weaker',
      found: 'evicted_keys 1',
      meaning: expect.stringContaining('run again'),
    })
  })

  it('a replica in place of its primary, and at the primary the replica that no mark waits for', async () => {
    await using primary = await startPrivateRedis({ appendfsync: 'always' })
    await using replica = await startPrivateRedis({ appendfsync: 'always', replicaOf: primary })
    await using atReplica = await IOREDIS.connect(replica.url)
    await using atPrimary = await IOREDIS.connect(primary.url)
    expect(verdictsOf(await findingsOf(atReplica.lease()))).toEqual({ 'redis.role': 'broken' })
    expect(verdictsOf(await findingsOf(atPrimary.lease()))).toEqual({ 'redis.replicas': 'weaker' })
    expect(verdictsOf(await findingsOf(atPrimary.lease({ durability: 'replicas' })))).toEqual({})
  })
})

describeOnRedis.each(LIBRARIES)('The checkup of redisLease by $name', ({ connectCluster, connect }) => {
  it(
    'looks at each node of a cluster',
    async () => {
      await using cluster = await startPrivateRedisCluster({ appendfsync: 'always' })
      await using client = await connectCluster(cluster.nodes.map(({ url }) => url))
      const [, second] = cluster.nodes
      await withRedis(second?.url ?? '', (server) => server.config('SET', 'appendfsync', 'no'))
      const findings = (await findingsOf(client.lease())).filter(({ verdict }) => verdict !== 'holds')
      expect(findings).toMatchObject([
        {
          check: 'redis.append-only-file',
          verdict: 'weaker',
          found: `127.0.0.1:${second?.port}: appendonly yes, appendfsync no`,
        },
      ])
    },
    SERVER_WITHIN_MS,
  )

  it('rejects if no server answers', async () => {
    await using redis = await startPrivateRedis()
    await using client = await connect(redis.url)
    const store = client.lease({ queryTimeoutMs: 200 })
    await redis.kill()
    await expect(findingsOf(store)).rejects.toMatchObject({ name: 'StoreError' })
  })
})

describeOnRedis('redisLease, when it is opened,', () => {
  it('warns of a server that evicts, and of no other', async () => {
    await using redis = await startPrivateRedis({
      args: ['--maxmemory', '100mb', '--maxmemory-policy', 'volatile-lru'],
    })
    await using client = await IOREDIS.connect(redis.url)
    expect(await warningsOf(() => client.lease().open())).toEqual(['CONSUME_ONCE_REDIS_EVICTION'])
    await withRedis(redis.url, (server) => server.config('SET', 'maxmemory-policy', 'noeviction'))
    expect(await warningsOf(() => client.lease().open())).toEqual([])
  })

  it('refuses a node of a cluster to the client of one server', async () => {
    await using redis = await startPrivateRedis({ args: ['--cluster-enabled', 'yes'] })
    await using client = await IOREDIS.connect(redis.url)
    await expect(client.lease().open()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('expected the client of a cluster'),
    })
  })
})

/** As whom nothing is allowed that these rights take away. */
async function urlOfUserWith({ url, port }: PrivateRedis, rights: string): Promise<string> {
  const words = ['on', '>secret', '~*', '&*', '+@all', ...rights.split(' ')]
  await withRedis(url, (redis) => redis.call('ACL', 'SETUSER', 'limited', ...words))
  return `redis://limited:secret@127.0.0.1:${port}`
}

async function findingsOf(store: Store): Promise<readonly CheckFinding[]> {
  if (store.checkup === undefined) throw new Error('expected a store with a checkup')
  const findings = await store.checkup()
  for (const { verdict, found, meaning } of findings) {
    expect(found).not.toBe('')
    expect(meaning === '').toBe(verdict === 'holds')
  }
  return findings
}

/** But those that hold. */
function verdictsOf(findings: readonly CheckFinding[]): Verdicts {
  return Object.fromEntries(
    findings.filter(({ verdict }) => verdict !== 'holds').map(({ check, verdict }) => [check, verdict]),
  )
}

async function warningsOf(run: () => Promise<void>): Promise<readonly unknown[]> {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  try {
    await run()
    return warn.mock.calls.map(([, options]) => (options as { readonly code?: string } | undefined)?.code)
  } finally {
    warn.mockRestore()
  }
}
