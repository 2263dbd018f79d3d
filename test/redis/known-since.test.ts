import { describe, expect, it } from '@jest/globals'
import { beforeEachOpen } from '../kit/opened.ts'
import { beforeAllOpen } from '../kit/opened.ts'
import { Redis } from 'ioredis'
import type { KnownSince } from '../../src/ports/store-admin.ts'
import { hold, newItem, SCOPE } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { startPrivateRedis, type PrivateRedis } from '../kit/servers/private-redis.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

const describeOnRedis = backends.has('redis') ? describe : describe.skip

describeOnRedis.each([
  ['with an append-only file', 'yes'],
  ['that writes nothing to disk', 'no'],
])('What redisLease knows of a scope on a server %s', (_, appendonly) => {
  let server: PrivateRedis
  let redis: Redis
  let harness: RedisHarness
  beforeAllOpen(async (own) => (server = own(await startPrivateRedis({ args: ['--appendonly', appendonly] }))))
  beforeEachOpen(async (own) => {
    harness = own(await redisHarness(server.url))
    redis = own(new Redis(server.url))
    own(() => redis.call('CONFIG', 'SET', 'maxmemory', '0'))
  })

  const claimOne = async (): Promise<void> => {
    const { claim: claimed } = await hold(harness.store, newItem())
    await harness.store.mark([claimed])
  }
  const known = (): Promise<KnownSince | undefined> =>
    harness.store.admin?.knownSince?.(SCOPE) ?? Promise.resolve(undefined)
  const serverTime = async (): Promise<number> => {
    const [seconds, micros] = await redis.time()
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
  }

  it('begins anew when all keys are gone, while the consumer runs on', async () => {
    await claimOne()
    await redis.flushall()
    const flushed = await serverTime()
    expect(await known()).toBeUndefined()
    await claimOne()
    expect((await known())?.at).toBeGreaterThanOrEqual(flushed)
  })

  it('is as old as its server lets it be after a crash', async () => {
    await claimOne()
    const before = await known()
    await server.kill()
    await server.restart()
    await claimOne()
    const later = ((await known())?.at ?? 0) - (before?.at ?? 0)
    expect(later > 0).toBe(appendonly === 'no')
  })

  it('is nothing of before now on a server that may drop records', async () => {
    await claimOne()
    await redis.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    await redis.call('CONFIG', 'SET', 'maxmemory', '100mb')
    const now = await serverTime()
    expect((await known())?.at).toBeGreaterThanOrEqual(now)
  })
})
