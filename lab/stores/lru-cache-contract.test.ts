import { describe, it } from '@jest/globals'
import { withDoneCache } from '../../adapters/lru-cache/index.ts'
import { memoryStore } from '../../src/memory/store.ts'
import type { Store } from '../../src/ports/store.ts'
import type { StoreHarness } from '../../testing/contract/store/harness.ts'
import { describeStoreContract } from '../../testing/contract/store/contract.ts'
import { backends } from '../../test/kit/backends.ts'
import { server } from '../../test/kit/servers/server.ts'
import { describePostgres, pgHarness } from '../../test/pg/support.ts'
import { REDIS_LACKS, redisHarness } from '../../test/redis/harness.ts'

const LOSS = 'what the store has lost this process still knows to be done, for its ttlMs'

const cached = <Tx>(store: Store<Tx>): Store<Tx> => withDoneCache(store, { maxKeys: 1_000 })

/** Another process has a cache of its own. */
function withCache<H extends StoreHarness>(harness: H): H {
  return { ...harness, store: cached(harness.store), secondStore: async () => cached(await harness.secondStore()) }
}

describeStoreContract(
  'a cache in front of a memory store',
  {
    strategy: 'lease',
    createHarness: async () => {
      let now = 1_000_000
      const clock = { now: () => now, monotonic: () => now }
      const store = memoryStore({ clock })
      const one = (): Store => withDoneCache(store, { maxKeys: 1_000, clock })
      const advance = async (ms: number): Promise<void> => {
        now += ms
      }
      return { store: one(), secondStore: async () => one(), advance, close: async () => {} }
    },
    lacks: {
      loss: 'only the process loses it, with everything else',
      unreadable: 'records are objects of this process',
    },
  },
  { describe, it },
)

const describeRedis = backends.has('redis') ? describe : describe.skip

describeRedis('redisLease', () => {
  describeStoreContract(
    'a cache in front of redisLease',
    {
      strategy: 'lease',
      createHarness: async () => withCache(await redisHarness((await server('redis')).url)),
      lacks: { loss: LOSS, ...REDIS_LACKS },
    },
    { describe, it },
  )
})

describePostgres('postgresInbox', () => {
  describeStoreContract(
    'a cache in front of postgresInbox',
    {
      strategy: 'inbox',
      createHarness: async () => withCache(await pgHarness()),
      lacks: {
        retention: 'a purge ends records',
      },
    },
    { describe, it },
  )
})
