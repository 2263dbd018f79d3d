import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Store } from '../../src/ports/store.ts'
import { claim, hold, newItem } from '../../testing/contract/store/claims.ts'
import { numberedKeys, oneSource, ownSources } from '../contract/numbered-keys.ts'
import { describeSequences } from '../contract/sequence-laws.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { backends } from '../kit/backends.ts'
import { openedForEach } from '../kit/opened.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { LIBRARIES } from './clients.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('redisSequences by $name on one server', (library) => {
  let url = ''
  beforeAll(async () => {
    url = (await server('redis')).url
  }, SERVER_WITHIN_MS)

  describeSequences('redisSequences', async (sequences) => {
    const harness = await redisHarness(url, { library, sequences })
    return {
      ...harness,
      count: async () => (await harness.redis.keys(`${harness.prefix}:{*`)).length,
      plantSource: (source, text) => harness.plant(source, text),
    }
  })

  let harness: RedisHarness
  openedForEach(
    () => redisHarness(url, { library, sequences: {} }),
    (made) => (harness = made),
  )

  it('refuses a key without a number', async () => {
    await expect(claim(harness.store, newItem())).rejects.toMatchObject({ code: 'STORE_MISUSED' })
  })

  it('keeps a source as long as the longest retention of its marks', async () => {
    const store = numberedKeys(harness.store, oneSource())
    const claims = [
      await hold(store, newItem(), { retentionMs: 3_600_000 }),
      await hold(store, newItem(), { retentionMs: 1_000 }),
    ]
    for (const { claim: claimed } of claims) await store.mark([claimed])
    const names = await harness.redis.keys(`${harness.prefix}:{*`)
    const sources = names.filter((name) => name.slice(name.lastIndexOf(':') + 1).length === 24)
    expect(sources).toHaveLength(1)
    expect(await harness.redis.pttl(sources[0] ?? '')).toBeGreaterThan(3_500_000)
  })
})

// By ioredis alone: every client sends the same scripts.
describeOnRedis('redisSequences beside transition()', () => {
  let harness: RedisHarness
  openedForEach(
    async () => redisHarness((await server('redis')).url, { sequences: {} }),
    (made) => (harness = made),
  )

  it('answers random calls of three owners as it does, with a source for each key', async () => {
    const store: Store = numberedKeys(harness.store, ownSources())
    await expect(assertLikeTransition(store, { numRuns: 200, without: 'forget' })).resolves.toBeUndefined()
  }, 60_000)
})
