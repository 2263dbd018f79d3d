import { beforeAll, describe, expect, it } from '@jest/globals'
import { ownerOf } from '../../adapters/redis/records/owners.ts'
import { countedText } from '../../src/core/counted-text.ts'
import type { Claim } from '../../src/ports/store.ts'
import { abandon, claim, hold, newItem, newToken } from '../../testing/contract/store/claims.ts'
import { ALONE, holdNew } from '../../testing/contract/store/given.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { assertLikeTransition } from '../contract/store-model.ts'
import { openedForEach } from '../kit/opened.ts'
import { backends } from '../kit/backends.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { LIBRARIES } from './clients.ts'
import { REDIS_LACKS, redisHarness, type RedisHarness } from './harness.ts'

const TERMS = { leaseMs: 30_000, retentionMs: 3_600_000 }

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('redisLease by $name on one server', (library) => {
  let url = ''
  beforeAll(async () => {
    url = (await server('redis')).url
  }, SERVER_WITHIN_MS)

  describeStoreContract(
    'redisLease',
    {
      strategy: 'lease',
      createHarness: () => redisHarness(url, { library }),
      lacks: REDIS_LACKS,
    },
    { describe, it },
  )

  let harness: RedisHarness
  openedForEach(
    () => redisHarness(url, { library }),
    (made) => (harness = made),
  )

  describe('keeps a record that ends with its retention', () => {
    it('while it is processed', async () => {
      const { item, claim: claimed } = await holdNew(harness.store, TERMS)
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toMatch(new RegExp(`^P\\|1\\|1\\|0\\|${item.digest}\\|${ownerOf(claimed)}\\|\\d{13}$`))
      expectRetention(ttlMs)
    })

    it('when it is renewed or released', async () => {
      const { item, claim: claimed } = await holdNew(harness.store, TERMS)
      await harness.store.renew([claimed], 30_000)
      expectRetention((await harness.look(item.key)).ttlMs)
      await harness.store.release([claimed], { refund: true, doubt: true })
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toBe(`R|1|0|1|${item.digest}|${ownerOf(claimed)}|`)
      expectRetention(ttlMs)
    })

    it('when it is done, of which doubt is no part', async () => {
      const item = newItem()
      await abandon(harness, item)
      const { claim: claimed } = await hold(harness.store, item, { ...ALONE, ...TERMS, retentionMs: 1_000 })
      await harness.store.mark([{ ...claimed, retentionMs: TERMS.retentionMs }])
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toBe(`d2${item.digest}${claimed.token.slice(0, 4)}`)
      expect(value).toHaveLength(28)
      expectRetention(ttlMs)
    })

    it('when it is given up', async () => {
      const { item, claim: claimed } = await holdNew(harness.store, TERMS)
      await harness.store.setAside([claimed], 'given-up', { reason: 'a|b' })
      const { value, ttlMs } = await harness.look(item.key)
      expect(value).toMatch(new RegExp(`^G\\|1\\|1\\|0\\|${item.digest}\\|${ownerOf(claimed)}\\n\\d{13}\\n\\|a\\|b$`))
      expectRetention(ttlMs)
    })

    it('unless it is parked: that has no end', async () => {
      const { item, claim: claimed } = await holdNew(harness.store, TERMS)
      await harness.store.setAside([claimed], 'parked', { reason: 'in-doubt' })
      expect(await harness.look(item.key)).toEqual({
        value: expect.stringMatching(
          new RegExp(`^X\\|1\\|1\\|0\\|${item.digest}\\|${ownerOf(claimed)}\\n\\d{13}\\n\\|in-doubt$`),
        ),
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
      expect((await harness.look(item.key)).value).toBe(`d2${item.digest}${claimed.token.slice(0, 4)}`)
    })
  })

  describe('knows what is done in either form of its record', () => {
    it.each([
      ['the short one', (digest: string) => `d3${digest}tokev"a"`],
      ['the long one', (digest: string) => `D|3|0|0|${digest}|token|v"a"`],
      ['the long one of before, which kept attempts', (digest: string) => `D|3|4|0|${digest}|token|v"a"`],
    ])('%s', async (_title, recordOf) => {
      const { store } = harness
      const item = newItem()
      await harness.plant(item.key, recordOf(String(item.digest)))
      expect(await claim(store, item)).toMatchObject({ verdict: 'done', result: 'v"a"' })
      expect(await claim(store, newItem({ key: item.key }))).toEqual({ verdict: 'conflict' })
      const claimed = { ...item, scope: '', token: 'token', fence: 3, attempt: 1, retentionMs: 60_000 }
      expect(await store.mark([claimed, { ...claimed, token: 'stranger' }])).toEqual(['already-marked', 'refused-done'])
      expect(await store.renew([claimed], 1_000)).toEqual(['lost'])
      expect(await store.release([claimed], { refund: false, doubt: false })).toEqual(['refused'])
      expect(await store.setAside([claimed], 'parked', { reason: 'no' })).toEqual(['refused'])
      expect((await harness.look(item.key)).value).toBe(recordOf(String(item.digest)))
    })
  })

  it.each([
    ['a fence of two digits', { fence: 12 }, 'D|12|0|0|DIGEST|TOKEN|v1'],
    ['a digest of other characters', { digest: 'é'.repeat(22) }, 'D|1|0|0|DIGEST|TOKEN|v1'],
    ['no digest', { digest: '' }, 'D|1|0|0||TOKEN|v1'],
    ['a token of another length', { token: 'short' }, 'D|1|0|0|DIGEST|short|v1'],
  ])('takes the long form for %s', async (_title, differs, expected) => {
    const { store } = harness
    const token = newToken()
    const claimed = { ...newItem(), scope: '', token, fence: 1, attempt: 1, retentionMs: 60_000, ...differs }
    expect(await store.mark([claimed], ['v1'])).toEqual(['marked-late'])
    expect(await store.mark([claimed], ['v2'])).toEqual(['already-marked'])
    const { value } = await harness.look(claimed.key)
    expect(value).toBe(expected.replace('DIGEST', String(claimed.digest)).replace('TOKEN', token))
    expect(await claim(store, claimed)).toMatchObject({ verdict: 'done', result: 'v1' })
  })

  it('keeps the fence of the record in a late mark, in whatever form', async () => {
    const { store } = harness
    const [ten, two] = [newItem(), newItem()]
    const token = newToken()
    const shared = { scope: '', token, fence: 1, attempt: 1, retentionMs: 60_000 }
    await harness.plant(ten.key, `R|10|0|0|${ten.digest}|other|`)
    await harness.plant(two.key, `R|2|0|0|${two.digest}|other|`)
    const claims = [ten, two].map((item) => ({ ...item, ...shared }))
    expect(await store.mark(claims, ['v1', 'v2'])).toEqual(['marked-late', 'marked-late'])
    expect((await harness.look(ten.key)).value).toBe(`D|10|0|0|${ten.digest}|${token}|v1`)
    expect((await harness.look(two.key)).value).toBe(`d2${two.digest}${token.slice(0, 4)}v2`)
    await harness.plant(two.key, `R|3|0|0||other|`)
    expect(await store.mark([{ ...two, ...shared, digest: '' }])).toEqual(['marked-late'])
    expect((await harness.look(two.key)).value).toBe(`D|3|0|0||${token}|`)
  })

  it('rounds times up: Redis knows whole milliseconds', async () => {
    const { claim: claimed } = await holdNew(harness.store, { leaseMs: 10_000.5, retentionMs: 20_000.25 })
    await harness.store.renew([claimed], 10_000.5)
    expect(await harness.store.mark([claimed])).toEqual(['marked'])
  })

  it('refuses a token and a digest that would run into the next field', async () => {
    for (const call of [
      () => claim(harness.store, newItem({ digest: 'a|b' })),
      () => claim(harness.store, newItem(), { token: 'a|b' }),
      () => claim(harness.store, newItem(), { token: 'a\nb' }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'STORE_MISUSED' })
    }
  })

  it('never guesses what a value means that it has not written: whoever claims it is told so, and it stays', async () => {
    const { store } = harness
    const { item, claim: claimed } = await holdNew(store)
    for (const value of [
      '1',
      '',
      'd',
      'd1',
      `d0${'x'.repeat(26)}`,
      'P|1|1|0',
      'Q|1|1|0|a|b|',
      'P|one|1|0|a|b|5',
      'P|1|1|2|a|b|5',
      'P|1|1|0|a|b|5|of a newer version',
      'P|1|1|0|a|b|',
    ]) {
      await harness.plant(item.key, value)
      const found = expect.stringContaining(`${item.key}: a string of ${countedText(value.length, 'byte', 'bytes')}`)
      const answers = [{ verdict: 'unreadable', found }, 'lost', 'refused-busy', 'refused', 'refused']
      const answered = await Promise.all(callsAbout(claimed).map((call) => call(store)))
      expect(answered.flat()).toEqual(answers)
      expect(await store.admin?.peek('', [item.key])).toEqual([{ state: 'unreadable', found }])
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

function callsAbout(claimed: Claim): readonly ((store: RedisHarness['store']) => Promise<readonly unknown[]>)[] {
  const request = { scope: '', token: newToken(), alone: true, items: [claimed], ...TERMS }
  return [
    (store) => store.claim(request),
    (store) => store.renew([claimed], 1_000),
    (store) => store.mark([claimed]),
    (store) => store.release([claimed], { refund: true, doubt: false }),
    (store) => store.setAside([claimed], 'given-up', { reason: 'no' }),
  ]
}

// By ioredis alone: every client sends the same scripts, and lab/redis/cluster.test.ts sends such calls by each.
describeOnRedis('redisLease beside transition()', () => {
  let harness: RedisHarness
  openedForEach(
    async () => redisHarness((await server('redis')).url),
    (made) => (harness = made),
  )

  it('answers random calls of three owners as it does', async () => {
    await expect(assertLikeTransition(harness.store, { numRuns: 200 })).resolves.toBeUndefined()
  }, 60_000)
})
