import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { KeyNames } from '../../adapters/redis/records/key-names.ts'
import type { Store } from '../../src/ports/store.ts'
import { claim, claimAll, grantedBy, hold, newItem, newToken } from '../../testing/contract/store/claims.ts'
import { backends } from '../../test/kit/backends.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import { startPrivateRedisCluster, type PrivateRedisCluster } from '../../test/kit/servers/private-redis-cluster.ts'
import { startPrivateRedis, type PrivateRedis, type PrivateRedisOptions } from '../../test/kit/servers/private-redis.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { IOREDIS, LIBRARIES, type UsersClient } from '../../test/redis/clients.ts'
import { untilAnswered } from '../../test/kit/eventually.ts'

const FSYNC = { durability: 'fsync', durableWithinMs: 300 } as const
const AMBIGUOUS = { name: 'StoreError', code: 'STORE_AMBIGUOUS' }

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('redisLease by $name with durability fsync', ({ connect, connectCluster }) => {
  let redis: PrivateRedis
  let client: UsersClient
  let store: Store
  beforeAllOpen(async (own) => {
    redis = own(await startPrivateRedis({ version: '8.0', appendfsync: 'always' }))
    client = own(await connect(redis.url))
    store = client.lease(FSYNC)
    await store.open()
  })

  it('does not know of a mark that the disk has not, and finds it once it has [T26]', async () => {
    const [marked, setAside, read] = [newItem(), newItem(), newItem()]
    const [ofMarked, ofSetAside, ofRead] = (await claimAll(store, [marked, setAside, read])).map(
      (answer) => grantedBy(answer).claim,
    )
    if (!ofMarked || !ofSetAside || !ofRead) throw new Error('expected three claims')
    await withRedis(redis.url, async (server) => {
      await server.config('SET', 'appendfsync', 'no')
      await expect(store.mark([ofMarked])).rejects.toMatchObject({
        ...AMBIGUOUS,
        message: 'Redis: written, but not on disk within 300 ms',
      })
      await expect(store.mark([ofMarked])).rejects.toMatchObject(AMBIGUOUS)
      await expect(store.setAside([ofSetAside], 'parked', { reason: 'no' })).rejects.toMatchObject(AMBIGUOUS)
      await client.lease().mark([ofRead])
      await expect(claim(store, read)).rejects.toMatchObject(AMBIGUOUS)
      await server.config('SET', 'appendfsync', 'always')
    })
    expect(await store.mark([ofMarked])).toEqual(['already-marked'])
    expect(await store.setAside([ofSetAside], 'parked', { reason: 'no' })).toEqual(['parked'])
    expect(await claim(store, read)).toMatchObject({ verdict: 'done' })
  })

  it('waits for the next sync where that comes once a second [T30]', async () => {
    await withRedis(redis.url, (server) => server.config('SET', 'appendfsync', 'everysec'))
    const patient = client.lease({ durability: 'fsync' })
    await patient.open()
    expect(await patient.mark([(await hold(patient, newItem())).claim])).toEqual(['marked'])
    await withRedis(redis.url, (server) => server.config('SET', 'appendfsync', 'always'))
  })

  it('counts replicas whose disk has it, where it is to', async () => {
    await expect(client.lease({ ...FSYNC, replicas: 1 }).open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('on disk and on 0 of 1 replicas'),
    })
    await using replica = await startPrivateRedis({ version: '8.0', appendfsync: 'always', replicaOf: redis })
    // A replica reports once a second what is on its disk.
    const both = client.lease({ durability: 'fsync', replicas: 1 })
    await untilAnswered(() => both.open())
    const { claim: claimed } = await hold(both, newItem())
    replica.freeze()
    await expect(both.mark([claimed])).rejects.toMatchObject(AMBIGUOUS)
    replica.thaw()
    expect(await both.mark([claimed])).toEqual(['already-marked'])
  })

  it('waits on each node of a cluster', async () => {
    await using cluster = await startPrivateRedisCluster({ version: '8.0', appendfsync: 'always' })
    await using ofCluster = await connectCluster(cluster.nodes.map(({ url }) => url))
    const onAll = ofCluster.lease(FSYNC)
    await onAll.open()
    const items = Array.from({ length: 100 }, () => newItem())
    const claims = (await claimAll(onAll, items)).map((answer) => grantedBy(answer).claim)
    const [first] = cluster.nodes
    await withRedis(first?.url ?? '', async (server) => {
      await server.config('SET', 'appendfsync', 'no')
      await expect(onAll.mark(claims)).rejects.toMatchObject(AMBIGUOUS)
      await server.config('SET', 'appendfsync', 'always')
    })
    expect(new Set(await onAll.mark(claims))).toEqual(new Set(['already-marked']))
    expect(new Set((await claimAll(onAll, items)).map(({ verdict }) => verdict))).toEqual(new Set(['done']))

    // A slot that has no keys yet goes to another node: the client learns of it by nothing but a mark.
    const names = new KeyNames('co', 200)
    let item = newItem()
    while (names.shardOf(item.key) < 16) item = newItem()
    const moved = { ...item, scope: '', token: newToken(), fence: 1, attempt: 1, retentionMs: 60_000 }
    const elsewhere = ofCluster.lease({ ...FSYNC, shards: 200 })
    await moveSlot(cluster, names.of(item.key))
    expect(['marked-late', 'already-marked']).toContainEqual((await untilAnswered(() => elsewhere.mark([moved])))[0])
  }, 60_000)
})

function askCluster(url: string, ...words: string[]): Promise<unknown> {
  return withRedis(url, (redis) => redis.call('CLUSTER', ...words))
}

async function moveSlot({ nodes }: PrivateRedisCluster, name: string): Promise<void> {
  const [first, second] = nodes
  if (!first || !second) throw new Error('expected two nodes')
  const slot = String(await askCluster(first.url, 'KEYSLOT', name))
  const owner = await withRedis(first.url, (redis) => redis.get(name)).then(
    () => first,
    () => second,
  )
  const target = owner === first ? second : first
  const id = String(await askCluster(target.url, 'MYID'))
  for (const node of [target, ...nodes.filter((one) => one !== target)])
    await askCluster(node.url, 'SETSLOT', slot, 'NODE', id)
}

describeOnRedis('redisLease with durability fsync refuses', () => {
  it.each<readonly [string, PrivateRedisOptions, string]>([
    ['a Redis without WAITAOF', { version: '7.0', appendfsync: 'always' }, 'has no WAITAOF'],
    ['a server without append-only file', { version: '8.0', args: ['--appendonly', 'no'] }, 'appendonly is no'],
    ['a server that never syncs', { version: '8.0', appendfsync: 'no' }, 'appendfsync is no'],
    ['a Valkey that syncs once a second', { version: 'valkey-9', appendfsync: 'everysec' }, 'only always will do'],
  ])(
    '%s',
    async (_title, options, why) => {
      await expect(open(options)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(why),
      })
    },
    SERVER_WITHIN_MS,
  )

  it(
    'no Valkey that syncs every write',
    async () => {
      await expect(open({ version: 'valkey-9', appendfsync: 'always' })).resolves.toBeUndefined()
    },
    SERVER_WITHIN_MS,
  )
})

async function open(options: PrivateRedisOptions): Promise<void> {
  await using redis = await startPrivateRedis(options)
  await using client = await IOREDIS.connect(redis.url)
  await client.lease({ durability: 'fsync' }).open()
}
