import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import { createClient, createClientPool, RESP_TYPES } from 'redis'
import { redisLease } from 'consume-once/redis'
import type { Store } from '../../src/ports/store.ts'
import { claim, claimAll, grantedBy, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { server } from '../kit/servers/server.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis('redisLease on a node-redis client', () => {
  let harness: RedisHarness
  let url = ''
  beforeAllOpen(async (own) => {
    url = (await server('redis')).url
    harness = own(await redisHarness(url))
  })

  type Options = Omit<NonNullable<Parameters<typeof createClient>[0]>, 'RESP'>

  it.each<readonly [string, Options]>([
    ['with keyPrefix', { keyPrefix: 'own:' }],
    ['with database', { database: 3 }],
    ['with replies as bytes', { commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } } }],
    ['with commandsQueueMaxLength', { commandsQueueMaxLength: 100 }],
    ['with disableOfflineQueue', { disableOfflineQueue: true }],
  ])('%s claims, marks and lists as with any other', async (_title, options) => {
    const redis = createClient({ ...options, url })
    await redis.connect()
    try {
      await expect(usual(redisLease({ redis, prefix: harness.prefix }))).resolves.toBeUndefined()
    } finally {
      for await (const names of redis.scanIterator({ MATCH: `*${harness.prefix}:*` })) {
        for (const name of names) await redis.sendCommand(['DEL', name])
      }
      redis.destroy()
    }
  })

  it('of RESP 2 claims, marks and lists as with any other', async () => {
    const redis = createClient({ url, RESP: 2 })
    await redis.connect()
    await expect(usual(redisLease({ redis, prefix: harness.prefix }))).resolves.toBeUndefined()
    redis.destroy()
  })

  it('that is a pool claims, marks and lists as with any other', async () => {
    const pool = createClientPool({ url }, { cleanupDelay: 50 })
    await pool.connect()
    await expect(usual(redisLease({ redis: pool, prefix: harness.prefix }))).resolves.toBeUndefined()
    pool.destroy()
  })

  it('that shares nothing with one of another keyPrefix', async () => {
    const item = newItem()
    for (const keyPrefix of ['a:', 'b:']) {
      const redis = createClient({ url, keyPrefix })
      await redis.connect()
      expect(await claim(redisLease({ redis, prefix: harness.prefix }), item)).toMatchObject({ verdict: 'claimed' })
      await redis.sendCommand([
        'EVAL',
        "return redis.call('DEL', unpack(redis.call('KEYS', ARGV[1])))",
        '0',
        `${keyPrefix}${harness.prefix}:*`,
      ])
      redis.destroy()
    }
  })

  it('that nobody has connected is unreachable, and says so', async () => {
    const store = redisLease({ redis: createClient({ url }) })
    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/The client is closed\. .*`await client\.connect\(\)`/),
    })
    await expect(hold(store, newItem())).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
  })
})

async function usual(store: Store): Promise<void> {
  await store.open()
  const items = Array.from({ length: 20 }, () => newItem())
  const answers = await Promise.all(items.map((item) => claim(store, item)))
  await Promise.all(answers.map((answer) => store.mark([grantedBy(answer).claim])))
  expect(new Set((await claimAll(store, items)).map(({ verdict }) => verdict))).toEqual(new Set(['done']))
  const listed = await store.admin?.list(SCOPE, { state: 'done', limit: 10_000 })
  expect(listed?.records.map(({ key }) => key)).toEqual(expect.arrayContaining(items.map(({ key }) => key)))
  expect((await store.checkup?.())?.map(({ check }) => check)).toContain('redis.eviction')
}
