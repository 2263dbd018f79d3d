import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { redisLease } from 'consume-once/ioredis'
import { hasCode } from '../../src/errors.ts'
import type { Claim, Store } from '../../src/ports/store.ts'
import { claim, hold, newItem, newToken } from '../contract/harness.ts'
import { backends } from '../support/backends.ts'
import { startPrivateRedis } from '../support/servers/private-redis.ts'
import { SERVER_WITHIN_MS } from '../support/servers/server.ts'
import { startReplyLoser, type ReplyLoser } from './lost-reply.ts'

type PrivateRedis = Awaited<ReturnType<typeof startPrivateRedis>>

const ALONE = { alone: true }
const describeOnRedis = backends.has('redis') ? describe : describe.skip

interface OnLostReply {
  readonly maxRetriesPerRequest?: number
  readonly autoResendUnfulfilledCommands?: boolean
}

/** What a client does with a command whose reply it never got. */
const CLIENTS: readonly (readonly [string, OnLostReply])[] = [
  ['that sends it again by itself', {}],
  ['that rejects it', { maxRetriesPerRequest: 0 }],
  ['that never settles it', { autoResendUnfulfilledCommands: false }],
]

describeOnRedis('redisLease, when the reply is lost', () => {
  let redis: PrivateRedis
  let proxy: ReplyLoser
  beforeAll(async () => {
    redis = await startPrivateRedis()
    proxy = await startReplyLoser(Number(new URL(redis.url).port))
  }, SERVER_WITHIN_MS)
  afterAll(async () => {
    await proxy?.stop()
    await redis?.stop()
  })

  describe.each(CLIENTS)('with a client %s', (_title, options) => {
    let client: Redis
    let store: Store
    beforeAll(async () => {
      client = new Redis(proxy.port, '127.0.0.1', { ...options, retryStrategy: () => 10 })
      client.on('error', () => {})
      store = redisLease({ redis: client, timeoutMs: 300 })
      // The scripts are known from here on, so that the reply that is lost is that of a script which ran.
      for (const call of callsOf((await hold(store, newItem())).claim)) await call(store)
    })
    afterAll(() => client.disconnect())

    it('is granted the claim it has been granted', async () => {
      const item = newItem()
      const token = newToken()
      expect(await answerAfterLoss(proxy, () => claim(store, item, { token }))).toMatchObject({
        verdict: 'claimed',
        attempt: 1,
      })
      expect(await claim(store, item, ALONE)).toMatchObject({ verdict: 'busy' })
    })

    it('is told once more that it took over', async () => {
      const item = newItem()
      await hold(store, item, { leaseMs: 0 })
      const again = { ...ALONE, token: newToken() }
      expect(await answerAfterLoss(proxy, () => claim(store, item, again))).toMatchObject({
        verdict: 'taken-over',
        attempt: 2,
      })
    })

    it('is told that its mark stands', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      expect(await answerAfterLoss(proxy, () => store.mark([claimed]))).toEqual(['already-marked'])
      expect(await claim(store, item)).toEqual({ verdict: 'done' })
    })

    it('gets its attempt back once', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(store, item)
      const refund = { refund: true, doubt: false }
      expect(await answerAfterLoss(proxy, () => store.release([claimed], refund))).toEqual(['already-released'])
      expect(await claim(store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
    })

    it('is told how it was set aside, and that it was renewed', async () => {
      const [doubtful, clean] = [newItem(), newItem()]
      await hold(store, doubtful, { leaseMs: 0 })
      const { claim: taken } = await hold(store, doubtful, ALONE)
      expect(await answerAfterLoss(proxy, () => store.setAside([taken], 'given-up', 'no'))).toEqual(['parked'])
      const { claim: claimed } = await hold(store, clean)
      expect(await answerAfterLoss(proxy, () => store.renew([claimed], 60_000))).toEqual(['renewed'])
      expect(await answerAfterLoss(proxy, () => store.setAside([claimed], 'given-up', 'no'))).toEqual(['given-up'])
    })
  })
})

describeOnRedis('redisLease, when the server is in trouble', () => {
  it('runs its scripts on a server that has forgotten them', async () => {
    await using redis = await startPrivateRedis()
    await using client = clientOf(redis)
    const store = redisLease({ redis: client.redis })
    for (const call of callsOf((await hold(store, newItem())).claim)) {
      await client.redis.script('FLUSH')
      await expect(call(store)).resolves.toHaveLength(1)
    }
  })

  it('gives up in time while the server is frozen, and finds its mark afterwards', async () => {
    await using redis = await startPrivateRedis()
    await using client = clientOf(redis)
    const store = redisLease({ redis: client.redis, timeoutMs: 100 })
    const { claim: claimed } = await hold(store, newItem())
    redis.freeze()
    for (const call of callsOf(claimed)) await expect(call(store)).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
    redis.thaw()
    const item = newItem()
    const { claim: later } = await hold(store, item)
    expect(await store.mark([later])).toEqual(['marked'])
  })

  it('is unreachable while the server is full, and says so without losing what is held', async () => {
    await using redis = await startPrivateRedis({ args: ['--maxmemory-policy', 'noeviction'] })
    await using client = clientOf(redis)
    const store = redisLease({ redis: client.redis })
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    await client.redis.config('SET', 'maxmemory', '1')
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringContaining('OOM'),
    })
    await expect(store.mark([claimed])).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    expect(await claim(store, item, ALONE)).toMatchObject({ verdict: 'busy' })
    await client.redis.config('SET', 'maxmemory', '0')
    expect(await store.mark([claimed])).toEqual(['marked'])
  })

  it('is unreachable at a replica', async () => {
    await using redis = await startPrivateRedis()
    await using client = clientOf(redis)
    const store = redisLease({ redis: client.redis })
    const { claim: claimed } = await hold(store, newItem())
    await client.redis.replicaof('127.0.0.1', 1)
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/READONLY|MASTERDOWN/),
    })
    await expect(store.mark([claimed])).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    await client.redis.replicaof('NO', 'ONE')
    expect(await store.mark([claimed])).toEqual(['marked'])
  })

  it('keeps what was marked over a crash of the server', async () => {
    await using redis = await startPrivateRedis()
    await using client = clientOf(redis)
    const store = redisLease({ redis: client.redis, timeoutMs: 10_000 })
    const [marked, held] = [newItem(), newItem()]
    await store.mark([(await hold(store, marked)).claim])
    const { claim: claimed } = await hold(store, held)
    await redis.kill()
    await redis.restart()
    expect(await claim(store, marked)).toEqual({ verdict: 'done' })
    expect(await store.mark([claimed])).toEqual(['marked'])
  })
})

/** Loses the reply of the first call, then asks as the pipeline does: the same again, until there is an answer. */
async function answerAfterLoss<T>(proxy: ReplyLoser, call: () => Promise<T>): Promise<T> {
  const before = proxy.lost
  proxy.loseNextReply()
  for (;;) {
    try {
      const answer = await call()
      expect(proxy.lost).toBe(before + 1)
      return answer
    } catch (error) {
      if (!hasCode(error, 'STORE_AMBIGUOUS')) throw error
    }
  }
}

function clientOf({ url }: PrivateRedis): { readonly redis: Redis } & AsyncDisposable {
  const redis = new Redis(url, { retryStrategy: () => 20 })
  redis.on('error', () => {})
  return { redis, [Symbol.asyncDispose]: async () => redis.disconnect() }
}

function callsOf(claimed: Claim): readonly ((store: Store) => Promise<unknown>)[] {
  const terms = { scope: '', token: claimed.token, leaseMs: 30_000, retentionMs: 60_000, alone: true }
  return [
    (store) => store.claim({ ...terms, items: [claimed] }),
    (store) => store.renew([claimed], 30_000),
    (store) => store.mark([claimed]),
    (store) => store.release([claimed], { refund: false, doubt: false }),
    (store) => store.setAside([claimed], 'parked', 'wait'),
  ]
}
