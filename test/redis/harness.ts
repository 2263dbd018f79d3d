import { Redis } from 'ioredis'
import type { RedisLeaseOptions } from 'consume-once/redis'
import { KeyNames } from '../../adapters/redis/records/key-names.ts'
import type { SequenceOptions } from '../../src/sequences/options.ts'
import type { Store } from '../../src/ports/store.ts'
import type { LeaseHarness } from '../../testing/contract/store/harness.ts'
import { uniqueName } from '../kit/namespace.ts'
import { IOREDIS, type RedisLibrary, type UsersClient } from './clients.ts'

/** What the contract asks for and Redis lacks, each with the reason. */
export const REDIS_LACKS = {
  'done-scopes': 'a done record has no room for its scope: 161 bytes a message would become 177',
} as const

export interface RedisHarness extends LeaseHarness {
  readonly store: Store
  readonly secondStore: () => Promise<Store>
  /** For a look past the store: no client of it. */
  readonly redis: Redis
  readonly prefix: string
  /** What Redis holds under a key of ours, and for how many milliseconds more (-1: for ever). */
  readonly look: (key: string) => Promise<{ readonly value: string | null; readonly ttlMs: number }>
  /** Puts a value of somebody else's there. */
  readonly plant: (key: string, value: string) => Promise<void>
}

/** Records under a prefix of their own, removed in the end. */
export async function redisHarness(
  url: string,
  {
    library = IOREDIS,
    storeUrl = url,
    sequences,
    ...options
  }: Omit<RedisLeaseOptions, 'redis'> & {
    /** A store of sequences, with these options. */
    readonly sequences?: SequenceOptions
    readonly library?: RedisLibrary
    /** The address with another user. */ readonly storeUrl?: string
  } = {},
): Promise<RedisHarness> {
  const prefix = uniqueName('contract')
  const clients: UsersClient[] = []
  const open = async (): Promise<Store> => {
    const client = await library.connect(storeUrl)
    clients.push(client)
    const store =
      sequences === undefined
        ? client.lease({ prefix, ...options })
        : client.sequences({ prefix, ...options, ...sequences })
    await store.open()
    return store
  }
  const redis = new Redis(url)
  const names = new KeyNames(prefix, options.shards ?? 16)
  return {
    redis,
    prefix,
    store: await open(),
    secondStore: open,
    forget: async (key) => void (await redis.del(names.of(key))),
    spoil: async (key) => {
      await redis.del(names.of(key))
      await redis.rpush(names.of(key), 'a list')
    },
    look: async (key) => {
      const name = names.of(key)
      return { value: await redis.get(name), ttlMs: await redis.pttl(name) }
    },
    plant: async (key, value) => void (await redis.set(names.of(key), value)),
    close: async () => {
      const written = await namesLike(redis, `${prefix}:*`)
      if (written.length > 0) await redis.del(...written)
      await Promise.all(clients.map((client) => client.close()))
      await redis.quit()
    },
  }
}

async function namesLike(redis: Redis, pattern: string): Promise<readonly string[]> {
  const names: string[] = []
  let cursor = '0'
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000)
    names.push(...found)
    cursor = next
  } while (cursor !== '0')
  return names
}
