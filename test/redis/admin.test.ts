import { describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { redisLease } from 'consume-once/redis'
import { ownerOf } from '../../adapters/redis/records/owners.ts'
import type { ListedState, RecordPage, StoreAdmin, Why } from '../../src/ports/store-admin.ts'
import type { Store } from '../../src/ports/store.ts'
import { claim, claimAll, grantedBy, hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { beforeAllOpen, openedForEach } from '../kit/opened.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { withRedis } from '../kit/servers/clients.ts'
import { startPrivateRedisCluster } from '../kit/servers/private-redis-cluster.ts'
import { startPrivateRedis, type PrivateRedis } from '../kit/servers/private-redis.ts'
import { server, SERVER_WITHIN_MS } from '../kit/servers/server.ts'
import { LIBRARIES } from './clients.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

const WHY: Why = { by: 'alice', reason: 'the provider | says so', retentionMs: 60_000 }

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each(LIBRARIES)('People who look after a redisLease by $name', (library) => {
  let ownRedis: PrivateRedis
  beforeAllOpen(async (own) => {
    // A table of keys that others make grow or shrink is no table to list: SCAN may give a key twice meanwhile.
    ownRedis = own(await startPrivateRedis())
  })
  let harness: RedisHarness
  openedForEach(
    () => redisHarness(ownRedis.url, { library }),
    (made) => (harness = made),
  )

  it('find each decision written down, once, with the record as it was before', async () => {
    const { store, redis, prefix } = harness
    const [parked, done] = [newItem(), newItem()]
    const { claim: claimed } = await hold(store, parked)
    await store.setAside([claimed], 'parked', { reason: 'a|b' })
    const { claim: marked } = await hold(store, done)
    await store.mark([marked], ['v1'])
    const keys = [parked.key, newItem().key]
    for (let again = 0; again < 2; again++) await adminOf(store).resolve(SCOPE, keys, { ...WHY, as: 'rerun' })
    await adminOf(store).forget(SCOPE, [done.key], WHY)
    const written = (await redis.xrange(`${prefix}:audit`, '-', '+')).map(([, fields]) => entryOf(fields))
    const said = { by: 'alice', reason: 'the provider | says so', scope: SCOPE }
    const name = (key: string): unknown => expect.stringMatching(new RegExp(`^${prefix}:\\{\\d\\d\\}:${key}$`))
    const ofParked = expect.stringMatching(
      new RegExp(`^X\\|1\\|1\\|0\\|${parked.digest}\\|${ownerOf(claimed)}\\n\\d{13}\\n\\|a\\|b$`),
    )
    const ofDone = `d1${done.digest}${marked.token.slice(0, 4)}v1`
    expect(written).toEqual([
      { key: name(parked.key), decision: 'rerun', before: ofParked, ...said },
      { key: name(done.key), decision: 'forget', before: ofDone, ...said },
    ])
  })

  it('find an import before the decision that came in the same millisecond, though they are in two streams', async () => {
    const admin = adminOf(harness.store)
    const keys = Array.from({ length: 100 }, () => newItem().key)
    for (const key of keys) {
      await admin.import?.(SCOPE, [key], WHY)
      await admin.forget(SCOPE, [key], WHY)
    }
    const page = await admin.audit?.(SCOPE, { limit: 200 })
    const newest = keys.toReversed().flatMap((key) => ['forget', 'import'].map((decision) => [key, decision]))
    expect(page?.entries.map(({ key, decision }) => [key, decision])).toEqual(newest)
  })

  it('find of a long result its beginning in the audit', async () => {
    const { store, redis, prefix } = harness
    const item = newItem()
    await store.mark([(await hold(store, item)).claim], [`v"${'x'.repeat(50_000)}"`])
    await adminOf(store).forget(SCOPE, [item.key], WHY)
    const [entry] = await redis.xrange(`${prefix}:audit`, '-', '+')
    expect(entryOf(entry?.[1] ?? [])['before']).toHaveLength(1024)
  })

  it('are shown times by the clock of the server', async () => {
    const { store } = harness
    const item = newItem()
    await hold(store, item, { leaseMs: 30_000, retentionMs: 600_000 })
    const [view] = await adminOf(store).peek(SCOPE, [item.key])
    const [seconds] = await harness.redis.time()
    expect(view?.leaseLeftMs).toBeGreaterThan(25_000)
    expect(view?.leaseLeftMs).toBeLessThanOrEqual(30_000)
    expect(Math.abs(Number(view?.keepUntil) - (Number(seconds) * 1_000 + 600_000))).toBeLessThan(5_000)
  })

  it('list many records page by page, all of them, beside values of somebody else', async () => {
    const { store } = harness
    const keys = await parkMany(store, 1_500)
    await harness.plant('XXXX-of-somebody-else', 'X-ray')
    await harness.plant('Xnumber-of-theirs', '')
    for (const limit of [400, 2_000]) {
      expect((await listAll(adminOf(store), 'parked', limit)).toSorted()).toEqual(keys.toSorted())
    }
  })

  it('look at few keys for a page if they are told to, and go on from there', async () => {
    const { store } = harness
    const keys = await parkMany(store, 40)
    const seen: string[] = []
    const bounds = [
      { limit: 3, lookAtMost: 7 },
      { limit: 20, lookAtMost: 30 },
    ] as const
    let [pages, after]: [number, string | undefined] = [0, undefined]
    do {
      const [small, large] = bounds
      const bound = pages % 2 === 0 ? small : large
      const page: RecordPage = await adminOf(store).list(SCOPE, { state: 'parked', ...bound, after })
      expect(page.looked).toBeLessThanOrEqual(bound.lookAtMost)
      seen.push(...page.records.map(({ key }) => key))
      pages++
      after = page.next
    } while (after !== undefined)
    // Redis may give a key twice while its table still grows to hold the records.
    expect([...new Set(seen)].toSorted()).toEqual(keys.toSorted())
    expect(pages).toBeGreaterThan(3)
  })

  it('list in pages that are smaller than what one step of the server gives', async () => {
    const { store } = harness
    const keys = await parkMany(store, 25)
    expect((await listAll(adminOf(store), 'parked', 1)).toSorted()).toEqual(keys.toSorted())
  })

  it.each(['done', 'given-up', 'processing', 'in-doubt'] as const)('list what is %s, and only that', async (state) => {
    const { store } = harness
    const items = Array.from({ length: 4 }, () => newItem())
    const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
    await store.mark(claims.slice(0, 1))
    await store.setAside(claims.slice(1, 2), 'given-up', { reason: 'no' })
    await store.release(claims.slice(2, 3), { refund: false, doubt: true })
    const expected = { done: 0, 'given-up': 1, 'in-doubt': 2, processing: 3 }[state]
    const listed = await listAll(adminOf(store), state, 10)
    // Keys by which stores were opened end within a second.
    expect(listed.filter((key) => !key.endsWith('-open'))).toEqual([items[expected]?.key])
  })

  it('are refused a place that no page has given', async () => {
    const query = { state: 'parked', limit: 1, after: 'page 2' } as const
    await expect(adminOf(harness.store).list(SCOPE, query)).rejects.toMatchObject({ code: 'STORE_MISUSED' })
  })

  it('have nothing to purge: Redis ends records by itself', async () => {
    const purging = { retentionMs: 1, limit: 10 }
    expect(await adminOf(harness.store).purge(SCOPE, purging)).toEqual({ removed: 0, more: false })
  })

  it(
    'reach all nodes of a cluster',
    async () => {
      await using cluster = await startPrivateRedisCluster()
      await using client = await library.connectCluster(cluster.nodes.map((node) => node.url))
      const store = client.lease()
      await store.open()
      const keys = await parkMany(store, 200)
      const admin = adminOf(store)
      expect((await listAll(admin, 'parked', 30)).toSorted()).toEqual(keys.toSorted())
      expect(new Set((await admin.peek(SCOPE, keys)).map(({ state }) => state))).toEqual(new Set(['parked']))
      const verdicts = await admin.resolve(SCOPE, keys, { ...WHY, as: 'done' })
      expect(new Set(verdicts)).toEqual(new Set(['decided']))
      expect(await listAll(admin, 'parked', 30)).toEqual([])
      const written = await Promise.all(cluster.nodes.map((node) => entriesOn(node.url)))
      expect(written.reduce((sum, count) => sum + count, 0)).toBe(200)
    },
    SERVER_WITHIN_MS,
  )

  it(
    'do not know of a decision that no replica has',
    async () => {
      await using primary = await startPrivateRedis()
      await using replica = await startPrivateRedis({ replicaOf: primary })
      await using client = await library.connect(primary.url)
      const store = client.lease({ durability: 'replicas', durableWithinMs: 200 })
      const [key = ''] = await parkMany(store, 1)
      replica.freeze()
      const decide = (): Promise<unknown> => adminOf(store).resolve(SCOPE, [key], { ...WHY, as: 'done' })
      await expect(decide()).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
      await expect(decide()).rejects.toMatchObject({ code: 'STORE_AMBIGUOUS' })
      replica.thaw()
      expect(await decide()).toEqual(['already'])
    },
    SERVER_WITHIN_MS,
  )

  // The last: while the table still moves, SCAN may give a key twice.
  it('miss none while the table of the server shrinks between two pages', async () => {
    const { store, redis, prefix } = harness
    const keys = await parkMany(store, 300)
    const foreign = Array.from({ length: 30_000 }, (_, at) => `${prefix}-of-others:${at}`)
    await redis.mset(foreign.flatMap((key) => [key, '']))
    const large = await sizeOf(redis)
    const seen = new Set<string>()
    let after: string | undefined
    for (let page = 1; ; page++) {
      const { records, next } = await adminOf(store).list(SCOPE, { state: 'parked', limit: 7, after })
      for (const { key } of records) seen.add(key)
      if (next === undefined) break
      after = next
      if (page !== 1) continue
      await redis.del(foreign)
      // Redis shrinks it on a timer of its own.
      await eventually(async () => (await sizeOf(redis)) < large / 2)
    }
    expect([...seen].toSorted()).toEqual(keys.toSorted())
  })
})

describeOnRedis('A list of the records of a client with a prefix of its own', () => {
  it('has them all, and those of no other', async () => {
    const { url } = await server('redis')
    const harness = await redisHarness(url)
    const redis = new Redis(url, { keyPrefix: `${harness.prefix}:{a}*?[b]:` })
    try {
      const store = redisLease({ redis, prefix: 'p*' })
      const keys = await parkMany(store, 30)
      await parkMany(harness.store, 5)
      expect((await listAll(adminOf(store), 'parked', 7)).toSorted()).toEqual(keys.toSorted())
      expect(await claim(store, newItem())).toMatchObject({ verdict: 'claimed' })
    } finally {
      redis.disconnect()
      await harness.close()
    }
  })
})

/** About the size of the table of keys: the cursor of SCAN counts from its highest bit. */
async function sizeOf(redis: Redis): Promise<number> {
  const [cursor] = await redis.scan('0', 'COUNT', 1)
  return Number(cursor)
}

function adminOf({ admin }: Store): StoreAdmin {
  if (admin === undefined) throw new Error('expected a store with admin')
  return admin
}

async function parkMany(store: Store, count: number): Promise<readonly string[]> {
  const items = Array.from({ length: count }, () => newItem())
  const claims = (await claimAll(store, items)).map((answer) => grantedBy(answer).claim)
  await store.setAside(claims, 'parked', { reason: 'wait' })
  return items.map(({ key }) => key)
}

/** Each key once: Redis may give one twice while its table still grows to hold the records. */
async function listAll(admin: StoreAdmin, state: ListedState, limit: number): Promise<readonly string[]> {
  const keys: string[] = []
  let after: string | undefined
  do {
    const page = await admin.list(SCOPE, { state, limit, after })
    if (page.records.length > limit) throw new Error(`expected at most ${limit} records, got ${page.records.length}`)
    keys.push(...page.records.map(({ key }) => key))
    after = page.next
  } while (after !== undefined)
  return [...new Set(keys)]
}

async function entriesOn(url: string): Promise<number> {
  return withRedis(url, async (redis) => {
    const streams = await redis.keys('co:audit:*')
    const lengths = await Promise.all(streams.map((stream) => redis.xlen(stream)))
    return lengths.reduce((sum, length) => sum + length, 0)
  })
}

function entryOf(fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: fields.length / 2 }, (_, at) => [fields[2 * at] ?? '', fields[2 * at + 1] ?? '']),
  )
}
