import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import type { Store } from '../../src/ports/store.ts'
import { claim, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { backends } from '../../test/kit/backends.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import { startPrivateRedisCluster } from '../../test/kit/servers/private-redis-cluster.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { IOREDIS, LIBRARIES } from '../../test/redis/clients.ts'
import { REDIS_LACKS, redisHarness } from '../../test/redis/harness.ts'
import { closedAfterEach } from '../../test/kit/after-each.ts'
import { rightsListed } from './rights-listed.ts'

const { consumers: CONSUMERS, people: PEOPLE, checks: CHECKS, cluster: CLUSTER, durability } = rightsListed()
/** The others are for what it cannot read. */
const AT_OPEN = CONSUMERS.filter((right) => right !== '+type' && right !== '+strlen')
/** WAITAOF came with Redis 7.2. */
const DURABLE = durability.filter((right) => right !== '+waitaof')

const describeOnRedis = backends.has('redis') ? describe : describe.skip

// ioredis warns that without INFO it cannot see whether a server is ready.
beforeEach(() => void jest.spyOn(console, 'warn').mockImplementation(() => {}))
const closing = closedAfterEach()

describeOnRedis.each(LIBRARIES)('A user with no rights but those that docs/redis.md lists, by $name,', (library) => {
  let ownRedis: PrivateRedis
  beforeAllOpen(async (own) => {
    ownRedis = own(await startPrivateRedis())
    own(await startPrivateRedis({ replicaOf: ownRedis }))
  })

  let users = 0
  async function as(rights: readonly string[], url = ownRedis.url): Promise<string> {
    const username = `app${++users}`
    await withRedis(url, async (redis) => {
      // Else the scripts of earlier tests are known.
      await redis.script('FLUSH')
      await redis.call('ACL', 'SETUSER', username, 'on', '>pw', ...rights, '~contract*')
    })
    return Object.assign(new URL(url), { username, password: 'pw' }).href
  }

  if (library === IOREDIS) {
    describeStoreContract(
      'redisLease',
      {
        strategy: 'lease',
        createHarness: async () =>
          redisHarness(ownRedis.url, { library, storeUrl: await as([...CONSUMERS, ...PEOPLE]) }),
        lacks: REDIS_LACKS,
      },
      { describe, it },
    )
  }

  it('can ask doctor, wait for replicas, and is told by open() of what it may not look at nothing worse', async () => {
    const url = await as([...CONSUMERS, ...CHECKS, ...DURABLE])
    const { store, close } = await redisHarness(ownRedis.url, { library, storeUrl: url, durability: 'replicas' })
    closing.push(close)
    const { claim: claimed } = await hold(store, newItem())
    expect(await store.mark([claimed])).toEqual(['marked'])
    const findings = (await store.checkup?.()) ?? []
    expect(findings.filter(({ verdict }) => verdict === 'unknown')).toEqual([])
    const blind = await redisHarness(ownRedis.url, { library, storeUrl: await as(CONSUMERS) })
    closing.push(blind.close)
    expect(await blind.store.checkup?.()).toMatchObject([
      { check: 'redis.info', verdict: 'unknown' },
      { check: 'redis.claim', verdict: 'holds' },
    ])
  })

  it.each(AT_OPEN)('needs %s, and is told so when it opens the store', async (right) => {
    const rights = CONSUMERS.filter((other) => other !== right)
    const client = await library.connect(await as(rights))
    closing.push(client.close)
    const error = await opening(client.lease({ prefix: 'contract' }))
    expect(error).toMatchObject({ code: 'STORE_UNREACHABLE' })
    const command = right.slice(1)
    expect(error?.message).toMatch(new RegExp(`'${command}' command|\\+${command}\\b`))
    expect(error?.message).toContain('docs/redis.md')
  })

  it('needs its prefix, and is told so when it opens the store', async () => {
    const client = await library.connect(await as(CONSUMERS))
    closing.push(client.close)
    expect(await opening(client.lease({ prefix: 'elsewhere' }))).toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/key.*docs\/redis\.md/),
    })
  })

  it('decides nothing without the right to write it down', async () => {
    const { store, close, look } = await redisHarness(ownRedis.url, { library, storeUrl: await as(CONSUMERS) })
    closing.push(close)
    const { item, claim: claimed } = await holdNew(store)
    await store.setAside([claimed], 'parked', { reason: 'wait' })
    const before = await look(item.key)
    const how = { by: 'alice', reason: 'because', retentionMs: 60_000, as: 'rerun' } as const
    await expect(store.admin?.resolve(SCOPE, [item.key], how)).rejects.toThrow(/xadd/)
    expect((await look(item.key)).value).toBe(before.value)
    expect(await claim(store, item)).toMatchObject({ verdict: 'parked' })
  })

  it('works on a cluster with the rights of its client', async () => {
    const cluster = await startPrivateRedisCluster()
    closing.push(() => cluster.stop())
    const rights = [...CONSUMERS, ...CLUSTER]
    for (const { url } of cluster.nodes) {
      await withRedis(url, (redis) =>
        redis.call('ACL', 'SETUSER', 'default', 'reset', 'on', 'nopass', ...rights, '~contract*'),
      )
    }
    const client = await library.connectCluster(cluster.nodes.map(({ url }) => url))
    closing.push(client.close)
    const store = client.lease({ prefix: 'contract' })
    await store.open()
    const { claim: claimed } = await hold(store, newItem())
    expect(await store.mark([claimed])).toEqual(['marked'])
  }, 60_000)
})

async function opening(store: Store): Promise<Error | undefined> {
  try {
    await store.open()
    return undefined
  } catch (error) {
    return error as Error
  }
}
