import { describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { redisLease } from 'consume-once/redis'
import { hasCode } from '../../src/foundation/errors.ts'
import type { Claim, Store } from '../../src/ports/store.ts'
import { claim, claimAll, grantedBy, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { ALONE, holdNew } from '../../testing/contract/store/given.ts'
import { backends } from '../../test/kit/backends.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { IOREDIS, LIBRARIES } from '../../test/redis/clients.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('redisLease by $name, when the server is in trouble', ({ connect }) => {
  it('runs its scripts on a server that has forgotten them', async () => {
    await using redis = await startPrivateRedis()
    await using client = await connect(redis.url)
    const store = client.lease()
    for (const call of callsOf((await hold(store, newItem())).claim)) {
      await withRedis(redis.url, (server) => server.script('FLUSH'))
      await expect(call(store)).resolves.toHaveLength(1)
    }
  })

  it('gives up in time while the server is frozen, and finds its mark afterwards', async () => {
    await using redis = await startPrivateRedis()
    await using client = await connect(redis.url)
    const store = client.lease({ queryTimeoutMs: 500 })
    const { claim: claimed } = await hold(store, newItem())
    redis.freeze()
    for (const call of callsOf(claimed)) await expect(call(store)).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
    redis.thaw()
    const { claim: later } = await hold(store, newItem())
    expect(await store.mark([later])).toEqual(['marked'])
  })

  it('marks after the server was frozen for longer than its lease, while nobody has taken over', async () => {
    await using redis = await startPrivateRedis()
    await using client = await connect(redis.url)
    const store = client.lease()
    const hasty = client.lease({ queryTimeoutMs: 100 })
    const { item, claim: claimed } = await holdNew(store, { leaseMs: 100 })
    redis.freeze()
    // Twice as long as the lease.
    for (let times = 0; times < 2; times++) {
      await expect(hasty.mark([claimed])).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
    }
    redis.thaw()
    expect(['marked', 'already-marked']).toContainEqual((await store.mark([claimed]))[0])
    expect(await claim(store, item, ALONE)).toMatchObject({ verdict: 'done' })
  })

  it('is unreachable while the server is full, and says so without losing what is held', async () => {
    await using redis = await startPrivateRedis({ args: ['--maxmemory-policy', 'noeviction'] })
    await using client = await connect(redis.url)
    const store = client.lease()
    const { item, claim: claimed } = await holdNew(store)
    await withRedis(redis.url, (server) => server.config('SET', 'maxmemory', '1'))
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('OOM'),
    })
    await expect(store.mark([claimed])).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    expect(await claim(store, item, ALONE)).toMatchObject({ verdict: 'busy' })
    await withRedis(redis.url, (server) => server.config('SET', 'maxmemory', '0'))
    expect(await store.mark([claimed])).toEqual(['marked'])
  })

  it('is unreachable at a replica', async () => {
    await using redis = await startPrivateRedis()
    await using client = await connect(redis.url)
    const store = client.lease()
    const { claim: claimed } = await hold(store, newItem())
    await withRedis(redis.url, (server) => server.replicaof('127.0.0.1', 1))
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/READONLY|MASTERDOWN/),
    })
    await expect(store.mark([claimed])).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    await withRedis(redis.url, (server) => server.replicaof('NO', 'ONE'))
    expect(await store.mark([claimed])).toEqual(['marked'])
  })

  it('is unreachable while too few replicas are there for the server itself', async () => {
    await using redis = await startPrivateRedis({ args: ['--min-replicas-to-write', '1'] })
    await using client = await connect(redis.url)
    const store = client.lease()
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('NOREPLICAS'),
    })
    await withRedis(redis.url, (server) => server.config('SET', 'min-replicas-to-write', '0'))
    await expect(store.open()).resolves.toBeUndefined()
  })

  it('is unreachable while the server cannot save, and refuses to write because of it', async () => {
    // Its snapshot is to take the name of a folder.
    const args = ['--save', '3600 1000000', '--dbfilename', 'appendonlydir']
    await using redis = await startPrivateRedis({ args })
    await using client = await connect(redis.url)
    const store = client.lease()
    const { claim: claimed } = await hold(store, newItem())
    await withRedis(redis.url, async (server) => {
      await server.bgsave()
      // Asked by INFO alone: it refuses a PING too by then.
      let persistence = ''
      while (!persistence.includes('rdb_last_bgsave_status:err')) persistence = await server.info('persistence')
    })
    await expect(store.mark([claimed])).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('MISCONF'),
    })
    await withRedis(redis.url, (server) => server.config('SET', 'stop-writes-on-bgsave-error', 'no'))
    expect(await store.mark([claimed])).toEqual(['marked'])
  })

  it('keeps what was marked over a crash of the server', async () => {
    await using redis = await startPrivateRedis()
    await using client = await connect(redis.url)
    const store = client.lease()
    const [marked, held] = [newItem(), newItem()]
    await store.mark([(await hold(store, marked)).claim])
    const { claim: claimed } = await hold(store, held)
    await redis.kill()
    await redis.restart()
    expect(await untilAnswered(() => claim(store, marked))).toMatchObject({ verdict: 'done' })
    expect(await store.mark([claimed])).toEqual(['marked'])
  })

  /** The effect did happen: its mark is written, whatever the server has forgotten. Fences begin again. */
  it.each<readonly [string, (redis: PrivateRedis) => Promise<void>]>([
    ['was flushed', ({ url }) => withRedis(url, async (server) => void (await server.flushall()))],
    [
      'has come back empty',
      async (redis) => {
        await redis.kill()
        await redis.restart()
      },
    ],
  ])('marks late what a server knows no more that %s [T23]', async (_title, forget) => {
    await using redis = await startPrivateRedis({ args: ['--appendonly', 'no'] })
    await using client = await connect(redis.url)
    const store = client.lease()
    const [held, marked] = [newItem(), newItem()]
    const { claim: claimed } = await hold(store, held)
    await store.mark([(await hold(store, marked)).claim])
    await forget(redis)
    expect(await untilAnswered(() => store.renew([claimed], 60_000))).toEqual(['lost'])
    expect(await store.mark([claimed])).toEqual(['marked-late'])
    expect(await claim(store, held)).toMatchObject({ verdict: 'done' })
    expect(await claim(store, marked)).toMatchObject({ verdict: 'claimed', fence: 1, attempt: 1 })
  })
})

describeOnRedis('A Redis that drops keys when it is full', () => {
  it('answers every mark and forgets some of them: what the warning at open is about [T24]', async () => {
    await using redis = await startPrivateRedis({ args: ['--maxmemory', '4mb', '--maxmemory-policy', 'allkeys-lru'] })
    await using client = await IOREDIS.connect(redis.url)
    const store = client.lease()
    const items = Array.from({ length: 40_000 }, () => newItem())
    for (let at = 0; at < items.length; at += 1_000) {
      const claims = await claimAll(store, items.slice(at, at + 1_000))
      await store.mark(claims.map((answer) => grantedBy(answer).claim))
    }
    const views = await store.admin?.peek(
      SCOPE,
      items.map(({ key }) => key),
    )
    expect(views?.filter(({ state }) => state === 'absent').length).toBeGreaterThan(1_000)
  })
})

describeOnRedis('A Redis that loads its data', () => {
  it('is unreachable until it has them', async () => {
    await using redis = await startPrivateRedis({ args: ['--key-load-delay', '300'] })
    const client = new Redis(redis.url, { enableReadyCheck: false, retryStrategy: () => 20 })
    client.on('error', () => {})
    const store = redisLease({ redis: client })
    const items = Array.from({ length: 5_000 }, () => newItem())
    await claimAll(store, items)
    const { claim: claimed } = await hold(store, newItem())
    await redis.kill()
    const restarted = redis.restart()
    await expect(refusal(() => store.mark([claimed]))).resolves.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('LOADING'),
    })
    await restarted
    expect(await store.mark([claimed])).toEqual(['marked'])
    client.disconnect()
  })
})

/** As the pipeline asks: the same again, until there is an answer. */
async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!hasCode(error, 'STORE_AMBIGUOUS')) throw error
      await new Promise(setImmediate)
    }
  }
}

/** Error of the call, once the server answers. */
async function refusal(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await untilAnswered(call)
  } catch (error) {
    return error
  }
}

function callsOf(claimed: Claim): readonly ((store: Store) => Promise<unknown>)[] {
  const terms = { scope: '', token: claimed.token, leaseMs: 30_000, retentionMs: 60_000, alone: true }
  return [
    (store) => store.claim({ ...terms, items: [claimed] }),
    (store) => store.renew([claimed], 30_000),
    (store) => store.mark([claimed]),
    (store) => store.release([claimed], { refund: false, doubt: false }),
    (store) => store.setAside([claimed], 'parked', { reason: 'wait' }),
    async (store) => store.admin?.forget(SCOPE, [claimed.key], { by: 'me', reason: 'why', retentionMs: 1_000 }),
    async (store) => store.admin?.peek(SCOPE, [claimed.key]),
  ]
}
