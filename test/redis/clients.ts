import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { redisLease, redisSequences, type RedisLike, type RedisStoreOptions } from 'consume-once/redis'
import type { SequenceOptions } from '../../src/sequences/options.ts'
import type { Store } from '../../src/ports/store.ts'

type Options = Omit<RedisStoreOptions, 'redis'>

/** A client of one library, as its user opens and closes it. */
export interface UsersClient extends AsyncDisposable {
  readonly lease: (options?: Options) => Store
  readonly sequences: (options?: Options & SequenceOptions) => Store
  readonly close: () => Promise<void>
}

/** A library under which the lease runs. Errors of connections are told by the calls that they break. */
export interface RedisLibrary {
  readonly name: 'ioredis' | 'node-redis'
  /** Comes back by itself within 20 ms. */
  readonly connect: (url: string) => Promise<UsersClient>
  readonly connectCluster: (urls: readonly string[]) => Promise<UsersClient>
}

const RECONNECT_AFTER_MS = 20

export const IOREDIS: RedisLibrary = {
  name: 'ioredis',
  async connect(url) {
    const redis = new Redis(url, { retryStrategy: () => RECONNECT_AFTER_MS, disconnectTimeout: 50 })
    return usersClient(redis.on('error', ignore), () => redis.disconnect())
  },
  async connectCluster(urls) {
    const nodes = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) }))
    const redis = new Cluster(nodes, { clusterRetryStrategy: () => RECONNECT_AFTER_MS })
    return usersClient(redis.on('error', ignore), () => redis.disconnect())
  },
}

const NODE_REDIS: RedisLibrary = {
  name: 'node-redis',
  async connect(url) {
    const redis = createClient({ url, socket: { reconnectStrategy: () => RECONNECT_AFTER_MS } })
    await redis.on('error', ignore).connect()
    return usersClient(redis, () => redis.destroy())
  },
  async connectCluster(urls) {
    const rootNodes = urls.map((url) => ({ url }))
    const redis = createCluster({ rootNodes, defaults: { socket: { reconnectStrategy: () => RECONNECT_AFTER_MS } } })
    await redis.on('error', ignore).connect()
    return usersClient(redis, () => redis.destroy())
  },
}

export const LIBRARIES: readonly RedisLibrary[] = [IOREDIS, NODE_REDIS]

function usersClient(redis: RedisLike, disconnect: () => void): UsersClient {
  const close = async (): Promise<void> => disconnect()
  return {
    lease: (options) => redisLease({ redis, ...options }),
    sequences: (options) => redisSequences({ redis, ...options }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function ignore(): void {}
