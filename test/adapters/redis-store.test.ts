import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Claim } from '../../src/ports/store.ts'
import { abandon, claim, hold, newItem, newToken } from '../contract/harness.ts'
import { describeStoreContract } from '../contract/store-contract.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { backends } from '../support/backends.ts'
import { server, SERVER_WITHIN_MS } from '../support/servers/server.ts'
import { LIBRARIES } from './redis-clients.ts'
import { redisHarness, type RedisHarness } from './redis-harness.ts'

const ALONE = { alone: true }
const TERMS = { leaseMs: 30_000, retentionMs: 3_600_000 }

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('redisLease by $name on one server', (library) => {
  let url = ''
  beforeAll(async () => {
    url = (await server('redis')).url
  }, SERVER_WITHIN_MS)

  describeStoreContract('redisLease', {
    strategy: 'lease',
    createHarness: () => redisHarness(url, { library }),
    lacks: { admin: 'not yet' },
  })

  let harness: RedisHarness
  beforeEach(async () => {
    harness = await redisHarness(url, { library })
  })
  afterEach(() => harness.close())

  it('answers random calls of three owners as transition() says', async () => {
    await expect(assertLikeTransition(harness.store, { numRuns: 200 })).resolves.toBeUndefined()
  }, 60_000)

  describe('keeps a record of seven fields that ends with its retention', () => {
    it('while it is processed', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(harness.store, item, TERMS)
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toMatch(new RegExp(`^P\\|1\\|1\\|0\\|${item.digest}\\|${claimed.token}\\|\\d{13}$`))
      expectRetention(ttlMs)
    })

    it('when it is renewed or released', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(harness.store, item, TERMS)
      await harness.store.renew([claimed], 30_000)
      expectRetention((await harness.look(item.key)).ttlMs)
      await harness.store.release([claimed], { refund: true, doubt: true })
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toBe(`R|1|0|1|${item.digest}|${claimed.token}|`)
      expectRetention(ttlMs)
    })

    it('when it is done, of which doubt is no part', async () => {
      const item = newItem()
      await abandon(harness, item)
      const { claim: claimed } = await hold(harness.store, item, { ...ALONE, ...TERMS, retentionMs: 1_000 })
      await harness.store.mark([{ ...claimed, retentionMs: TERMS.retentionMs }])
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toBe(`D|2|2|0|${item.digest}|${claimed.token}|`)
      expectRetention(ttlMs)
    })

    it('when it is given up', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(harness.store, item, TERMS)
      await harness.store.setAside([claimed], 'given-up', 'a|b')
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toBe(`G|1|1|0|${item.digest}|${claimed.token}|a|b`)
      expectRetention(ttlMs)
    })

    it('unless it is parked: that has no end', async () => {
      const item = newItem()
      const { claim: claimed } = await hold(harness.store, item, TERMS)
      await harness.store.setAside([claimed], 'parked', 'in-doubt')
      expect(await harness.look(item.key)).toEqual({
        value: `X|1|1|0|${item.digest}|${claimed.token}|in-doubt`,
        ttlMs: -1,
      })
      await harness.store.mark([claimed])
      expectRetention((await harness.look(item.key)).ttlMs)
    })

    it('and keeps the fence of a claim whose record was lost', async () => {
      const item = newItem()
      await abandon(harness, item)
      const { claim: claimed } = await hold(harness.store, item, ALONE)
      await harness.forget?.(item.key)
      await harness.store.mark([claimed])
      expect((await harness.look(item.key)).value).toBe(`D|2|0|0|${item.digest}|${claimed.token}|`)
    })
  })

  it('rounds times up: Redis knows whole milliseconds', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(harness.store, item, { leaseMs: 10_000.5, retentionMs: 20_000.25 })
    await harness.store.renew([claimed], 10_000.5)
    expect(await harness.store.mark([claimed])).toEqual(['marked'])
  })

  it('refuses a token and a digest that would run into the next field', async () => {
    for (const call of [
      () => claim(harness.store, newItem({ digest: 'a|b' })),
      () => claim(harness.store, newItem(), { token: 'a|b' }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'STORE_MISUSED' })
    }
  })

  it('never guesses what a value means that it has not written', async () => {
    const { store } = harness
    const item = newItem()
    const { claim: claimed } = await hold(store, item)
    for (const value of ['1', '', 'P|1|1|0', 'Q|1|1|0|a|b|', 'P|one|1|0|a|b|5', 'P|1|1|2|a|b|5']) {
      await harness.plant(item.key, value)
      for (const call of callsAbout(claimed)) {
        await expect(call(store)).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
      }
      expect((await harness.look(item.key)).value).toBe(value)
    }
  })

  it('shares nothing with another prefix', async () => {
    const other = await redisHarness(url, { library })
    try {
      const item = newItem()
      await harness.store.mark([(await hold(harness.store, item)).claim])
      expect(await claim(other.store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
    } finally {
      await other.close()
    }
  })

  it('opens as often as it is asked to', async () => {
    await harness.store.open()
    await expect(harness.store.open()).resolves.toBeUndefined()
  })
})

function expectRetention(ttlMs: number): void {
  expect(ttlMs).toBeGreaterThan(TERMS.retentionMs - 60_000)
  expect(ttlMs).toBeLessThanOrEqual(TERMS.retentionMs)
}

function callsAbout(claimed: Claim): readonly ((store: RedisHarness['store']) => Promise<unknown>)[] {
  const request = { scope: '', token: newToken(), alone: true, items: [claimed], ...TERMS }
  return [
    (store) => store.claim(request),
    (store) => store.renew([claimed], 1_000),
    (store) => store.mark([claimed]),
    (store) => store.release([claimed], { refund: true, doubt: false }),
    (store) => store.setAside([claimed], 'given-up', 'no'),
  ]
}
