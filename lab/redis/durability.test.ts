import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Redis } from 'ioredis'
import type { RedisLeaseOptions } from 'consume-once/redis'
import type { Store } from '../../src/ports/store.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { assertLikeTransition } from '../../test/contract/store-model.ts'
import { backends } from '../../test/kit/backends.ts'
import { startFaultProxy } from '../../test/kit/fault-proxy.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import { startPrivateRedis, type PrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { IOREDIS, LIBRARIES, type UsersClient } from '../../test/redis/clients.ts'

const REPLICAS = { durability: 'replicas', durableWithinMs: 200 } as const
const AMBIGUOUS = { name: 'StoreError', code: 'STORE_AMBIGUOUS' }

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('redisLease by $name with durability replicas', ({ connect }) => {
  let primary: PrivateRedis
  let replica: PrivateRedis
  let client: UsersClient
  let store: Store
  beforeAllOpen(async (own) => {
    primary = own(await startPrivateRedis())
    replica = own(await startPrivateRedis({ replicaOf: primary }))
    client = own(await connect(primary.url))
    store = client.lease(REPLICAS)
    await store.open()
  })

  /** Runs `run` while the replica receives nothing. */
  async function whileStalled(run: () => Promise<void>): Promise<void> {
    replica.freeze()
    try {
      await run()
    } finally {
      replica.thaw()
    }
  }

  it('answers random calls of three owners as transition() says', async () => {
    await expect(assertLikeTransition(store, { numRuns: 30 })).resolves.toBeUndefined()
  }, 60_000)

  it('does not know of a mark that no replica has, and finds it once one has [T29]', async () => {
    const { claim: claimed } = await holdNew(store)
    await whileStalled(async () => {
      await expect(store.mark([claimed])).rejects.toMatchObject({
        ...AMBIGUOUS,
        message: 'Redis: written, but on 0 of 1 replicas within 200 ms',
      })
      // Sent again nothing is new, and it is waited for all the same.
      await expect(store.mark([claimed])).rejects.toMatchObject(AMBIGUOUS)
    })
    expect(await store.mark([claimed])).toEqual(['already-marked'])
  })

  it('nor of what was set aside, also when that is sent again', async () => {
    for (const as of ['given-up', 'parked'] as const) {
      const { claim: claimed } = await hold(store, newItem())
      await whileStalled(async () => {
        await expect(store.setAside([claimed], as, { reason: 'no' })).rejects.toMatchObject(AMBIGUOUS)
        await expect(store.setAside([claimed], as, { reason: 'no' })).rejects.toMatchObject(AMBIGUOUS)
      })
      expect(await store.setAside([claimed], as, { reason: 'no' })).toEqual([as])
    }
  })

  it('does not settle a duplicate by a mark of another process that no replica has [T25]', async () => {
    const item = newItem()
    await using other = await connect(primary.url)
    const inMemory = other.lease()
    const { claim: claimed } = await hold(store, item)
    await whileStalled(async () => {
      expect(await inMemory.mark([claimed])).toEqual(['marked'])
      await expect(claim(store, item)).rejects.toMatchObject(AMBIGUOUS)
    })
    expect(await claim(store, item)).toMatchObject({ verdict: 'done' })
  })

  it('is refused late as done only when the mark of the other is durable', async () => {
    const { item, ...late } = await holdNew(store, { leaseMs: 0 })
    const next = await hold(store, item, { alone: true })
    await store.mark([next.claim])
    await whileStalled(async () => {
      await expect(store.mark([late.claim])).rejects.toMatchObject(AMBIGUOUS)
    })
    expect(await store.mark([late.claim])).toEqual(['refused-done'])
  })

  it('claims and renews without a wait', async () => {
    await whileStalled(async () => {
      const { claim: claimed } = await hold(store, newItem())
      expect(await store.renew([claimed], 60_000)).toEqual(['renewed'])
    })
  })

  it('gathers marks that come while others are waited for', async () => {
    const claims = await Promise.all(Array.from({ length: 60 }, async () => (await hold(store, newItem())).claim))
    const before = await waits(primary)
    expect(new Set((await Promise.all(claims.map((one) => store.mark([one])))).flat())).toEqual(new Set(['marked']))
    expect((await waits(primary)) - before).toBeLessThanOrEqual(3)
  })

  it('does not open without its replicas', async () => {
    await expect(client.lease({ ...REPLICAS, replicas: 2 }).open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(
        /on 1 of 2 replicas within \d+ ms\. Attach as many replicas .* or choose durability 'memory'$/,
      ),
    })
  })
})

describeOnRedis.each(LIBRARIES)(
  'redisLease by $name whose connection is lost between a mark and its wait',
  ({ connect }) => {
    /** From 7.2 on, WAIT returns at once on a connection that has written nothing. */
    it('believes no wait of another connection', async () => {
      await using primary = await startPrivateRedis({ version: '8.0' })
      await using replica = await startPrivateRedis({ version: '8.0', replicaOf: primary })
      await using proxy = await startFaultProxy(primary.port)
      await using client = await connect(`redis://127.0.0.1:${proxy.port}`)
      const store = client.lease({ durability: 'replicas', durableWithinMs: 5_000, queryTimeoutMs: 10_000 })
      await store.open()
      const { claim: claimed } = await hold(store, newItem())
      replica.freeze()
      const marking = store.mark([claimed]).catch((error: unknown) => error)
      await untilWaitedFor(primary)
      proxy.cut()
      expect(await marking).toMatchObject(AMBIGUOUS)
      expect(await withRedis(primary.url, (redis) => redis.call('WAIT', 1, 100))).toBe(1)
      replica.thaw()
      expect(await store.mark([claimed])).toEqual(['already-marked'])
    })
  },
)

describeOnRedis('A primary that is lost with writes that its replica had not received', () => {
  it('loses a mark that was answered from memory: its message runs again [T27]', async () => {
    expect(await failOver({})).toEqual({ marked: ['marked'], afterwards: 'busy' })
  })

  it('loses no mark that was answered with replicas: it was not answered [T28]', async () => {
    expect(await failOver(REPLICAS)).toEqual({ marked: expect.objectContaining(AMBIGUOUS), afterwards: 'busy' })
  })
})

async function waits({ url }: PrivateRedis): Promise<number> {
  return withRedis(url, async (redis) =>
    Number(/cmdstat_wait:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0),
  )
}

async function untilWaitedFor({ url }: PrivateRedis): Promise<void> {
  const redis = new Redis(url)
  try {
    while (!(await redis.info('clients')).includes('blocked_clients:1')) await redis.ping()
  } finally {
    redis.disconnect()
  }
}

async function untilHeard(primary: PrivateRedis, replica: PrivateRedis): Promise<void> {
  while ((await offsetOf(primary)) !== (await offsetOf(replica))) await new Promise(setImmediate)
}

function offsetOf({ url }: PrivateRedis): Promise<string | undefined> {
  return withRedis(url, async (redis) => /master_repl_offset:(\d+)/.exec(await redis.info('replication'))?.[1])
}

/** Marks while the replica is cut off, then kills the primary and promotes the replica. */
async function failOver(
  options: Omit<RedisLeaseOptions, 'redis'>,
): Promise<{ readonly marked: unknown; readonly afterwards: string }> {
  await using primary = await startPrivateRedis()
  await using proxy = await startFaultProxy(primary.port)
  await using replica = await startPrivateRedis({ replicaOf: Object.assign({ ...primary }, { port: proxy.port }) })
  await using before = await IOREDIS.connect(primary.url)
  const store = before.lease(options)
  const { item, claim: claimed } = await holdNew(store)
  await untilHeard(primary, replica)
  proxy.refuse()
  proxy.cut()
  const marked = await store.mark([claimed]).catch((error: unknown) => error)
  await primary.kill()
  await withRedis(replica.url, (redis) => redis.replicaof('NO', 'ONE'))
  await using after = await IOREDIS.connect(replica.url)
  return { marked, afterwards: (await claim(after.lease(), item, { alone: true })).verdict }
}
