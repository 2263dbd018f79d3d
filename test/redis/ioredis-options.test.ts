import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import { Redis, type RedisOptions } from 'ioredis'
import { redisLease } from 'consume-once/redis'
import type { Store } from '../../src/ports/store.ts'
import { claim, claimAll, grantedBy, newItem } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { server } from '../kit/servers/server.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

type Options = Omit<RedisOptions, 'replyMapping'>

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis('redisLease on an ioredis client with', () => {
  let harness: RedisHarness
  let url = ''
  beforeAllOpen(async (own) => {
    url = (await server('redis')).url
    harness = own(await redisHarness(url))
  })

  /** Options that change nothing: what is marked is done, for this client and for any other with the same prefix of keys. */
  it.each<readonly [string, Options]>([
    ['keyPrefix', { keyPrefix: 'own:' }],
    ['a keyPrefix with braces', { keyPrefix: '{own}' }],
    ['enableAutoPipelining', { enableAutoPipelining: true }],
    ['lazyConnect', { lazyConnect: true }],
    ['db', { db: 3 }],
    ['stringNumbers', { stringNumbers: true }],
    ['readOnly', { readOnly: true }],
    ['enableReadyCheck: false', { enableReadyCheck: false }],
    ['maxRetriesPerRequest: null', { maxRetriesPerRequest: null }],
    ['commandTimeout', { commandTimeout: 1_000 }],
    ['autoResendUnfulfilledCommands: false', { autoResendUnfulfilledCommands: false }],
  ])('%s claims and marks as with any other', async (_title, options) => {
    await withClient(options, async (store) => {
      await store.open()
      const items = Array.from({ length: 20 }, () => newItem())
      const answers = await Promise.all(items.map((item) => claim(store, item)))
      await Promise.all(answers.map((answer) => store.mark([grantedBy(answer).claim])))
      expect(new Set((await claimAll(store, items)).map(({ verdict }) => verdict))).toEqual(new Set(['done']))
    })
  })

  it('keyPrefix or db shares nothing with a client that has another', async () => {
    const item = newItem()
    for (const options of [{}, { keyPrefix: 'a:' }, { keyPrefix: 'b:' }, { db: 1 }]) {
      await withClient(options, async (store) => {
        expect(await claim(store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
      })
    }
  })

  /** Leaves nothing behind: a client without a prefix of its own writes under that of the harness. */
  async function withClient(options: Options, run: (store: Store) => Promise<void>): Promise<void> {
    const redis = new Redis(url, options)
    const { prefix } = harness
    try {
      await run(redisLease({ redis, prefix }))
    } finally {
      const names = await redis.keys(`${options.keyPrefix ?? ''}${prefix}:*`)
      const written = new Redis(url, { db: options.db ?? 0 })
      if (names.length > 0) await written.del(...names)
      await written.quit()
      await redis.quit()
    }
  }
})
