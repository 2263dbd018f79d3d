import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen, beforeEachOpen } from '../kit/opened.ts'
import { KeyNames } from '../../adapters/redis/records/key-names.ts'
import type { ClaimItem, Store } from '../../src/ports/store.ts'
import { claim, hold, type HowToClaim, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { holdNew } from '../../testing/contract/store/given.ts'
import { backends } from '../kit/backends.ts'
import { startPrivateRedis, type PrivateRedis } from '../kit/servers/private-redis.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

const HOUR_MS = 3_600_000
const HOUR = { retentionMs: HOUR_MS }
const DAY = { retentionMs: 24 * HOUR_MS }
/** Clocks of one machine, and the time of a call on a busy one. */
const CLOSE_MS = 2_000

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis('redisLease tells a duplicate when its message was marked', () => {
  let server: PrivateRedis
  let harness: RedisHarness
  beforeAllOpen(async (own) => (server = own(await startPrivateRedis())))
  beforeEachOpen(async (own) => (harness = own(await redisHarness(server.url))))

  const marked = async (how: HowToClaim, digest?: string): Promise<ClaimItem> => {
    const item = newItem(digest === undefined ? {} : { digest })
    await harness.store.mark([(await hold(harness.store, item, how)).claim])
    return item
  }
  const told = async (item: ClaimItem, store: Store = harness.store): Promise<number | undefined> => {
    const answer = await claim(store, item, HOUR)
    if (answer.verdict !== 'done') throw new Error(`expected done, got ${answer.verdict}`)
    return answer.since
  }
  const shown = async ({ key }: ClaimItem, scope = SCOPE): Promise<number | undefined> =>
    (await harness.store.admin?.peek(scope, [key]))?.[0]?.since
  const times = (): string => new KeyNames(harness.prefix, 16).since(SCOPE)

  it('in milliseconds of its clock, with a digest or without, and shows it to people', async () => {
    const before = Date.now()
    for (const item of [await marked(HOUR), await marked(HOUR, '')]) {
      for (const since of [await told(item), await shown(item)]) {
        expect(since).toBeGreaterThan(before - CLOSE_MS)
        expect(since).toBeLessThan(Date.now() + CLOSE_MS)
      }
    }
  })

  it('as long ago as it was', async () => {
    const item = await marked(HOUR)
    const name = new KeyNames(harness.prefix, 16).of(item.key)
    await harness.redis.set(times(), `${Date.now() - 2 * HOUR_MS}|${HOUR_MS}:${Date.now()}`)
    await harness.redis.pexpire(name, HOUR_MS / 4)
    const expected = Date.now() - (3 * HOUR_MS) / 4
    expect(Math.abs(((await told(item)) ?? 0) - expected)).toBeLessThan(CLOSE_MS)
  })

  it('only while all records of its scope were kept for the same time', async () => {
    const item = await marked(HOUR)
    const long = await marked(DAY)
    for (const one of [item, long]) expect([await told(one), await shown(one)]).toEqual([undefined, undefined])
    // Nothing that was kept for a day is left.
    const now = Date.now()
    await harness.redis.set(times(), `${now - HOUR_MS}|${DAY.retentionMs}:${now - DAY.retentionMs}|${HOUR_MS}:${now}`)
    expect(Math.abs(((await told(item)) ?? 0) - now)).toBeLessThan(CLOSE_MS)
  })

  it('not where the time to live is none that its scope has given', async () => {
    const [long, short] = [await marked(HOUR), await marked(HOUR)]
    const names = new KeyNames(harness.prefix, 16)
    await harness.redis.pexpire(names.of(long.key), DAY.retentionMs)
    await harness.redis.pexpire(names.of(short.key), 60_000)
    for (const one of [long, short]) expect([await told(one), await shown(one)]).toEqual([undefined, undefined])
    await harness.redis.del(times())
    expect(await shown(long)).toBeUndefined()
  })

  it('with the time of a decision, whatever retention that gives', async () => {
    const { item, claim: claimed } = await holdNew(harness.store, HOUR)
    await harness.store.setAside([claimed], 'parked', { reason: 'wait' })
    const why = { by: 'alice', reason: 'seen', ...DAY }
    await harness.store.admin?.resolve(SCOPE, [item.key], { ...why, as: 'done' })
    await marked(DAY)
    for (const since of [await told(item), await shown(item)]) {
      expect(Math.abs((since ?? 0) - Date.now())).toBeLessThan(CLOSE_MS)
    }
    // The owner is still recognised.
    expect(await harness.store.mark([claimed])).toEqual(['already-marked'])
  })

  it('as nothing else of a record: a user without the right to PTTL gets duplicates as before', async () => {
    const rights = '+eval +evalsha +get +mget +set +time +type +strlen'.split(' ')
    await harness.redis.call('ACL', 'SETUSER', 'consumer', 'on', '>pw', ...rights, '~*')
    const storeUrl = Object.assign(new URL(server.url), { username: 'consumer', password: 'pw' }).href
    const limited = await redisHarness(server.url, { storeUrl })
    try {
      const item = newItem()
      await limited.store.mark([(await hold(limited.store, item)).claim], ['v1'])
      expect(await claim(limited.store, item)).toEqual({ verdict: 'done', result: 'v1' })
    } finally {
      await limited.close()
    }
  })
})
