import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import * as ioredis from 'consume-once/ioredis'
import * as nodeRedis from 'consume-once/node-redis'
import type { SequenceOptions } from '../../src/sequences/options.ts'
import type { Store } from '../../src/ports/store.ts'

/** A client of one library, as its user opens and closes it. */
export interface UsersClient extends AsyncDisposable {
  readonly lease: (options?: ioredis.LeaseOptions) => Store
  readonly sequences: (options?: ioredis.LeaseOptions & SequenceOptions) => Store
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
    return usersClient(redis.on('error', ignore), {
      lease: (options) => ioredis.redisLease({ redis, ...options }),
      sequences: (options) => ioredis.redisSequences({ redis, ...options }),
    })
  },
  async connectCluster(urls) {
    const nodes = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) }))
    const redis = new Cluster(nodes, { clusterRetryStrategy: () => RECONNECT_AFTER_MS })
    return usersClient(redis.on('error', ignore), {
      lease: (options) => ioredis.redisLease({ redis, ...options }),
      sequences: (options) => ioredis.redisSequences({ redis, ...options }),
    })
  },
}

const NODE_REDIS: RedisLibrary = {
  name: 'node-redis',
  async connect(url) {
    const redis = createClient({ url, socket: { reconnectStrategy: () => RECONNECT_AFTER_MS } })
    await redis.on('error', ignore).connect()
    return usersClient(
      { disconnect: () => redis.destroy() },
      {
        lease: (options) => nodeRedis.redisLease({ redis, ...options }),
        sequences: (options) => nodeRedis.redisSequences({ redis, ...options }),
      },
    )
  },
  async connectCluster(urls) {
    const rootNodes = urls.map((url) => ({ url }))
    const redis = createCluster({ rootNodes, defaults: { socket: { reconnectStrategy: () => RECONNECT_AFTER_MS } } })
    await redis.on('error', ignore).connect()
    return usersClient(
      { disconnect: () => redis.destroy() },
      {
        lease: (options) => nodeRedis.redisLease({ redis, ...options }),
        sequences: (options) => nodeRedis.redisSequences({ redis, ...options }),
      },
    )
  },
}

export const LIBRARIES: readonly RedisLibrary[] = [IOREDIS, NODE_REDIS]

function usersClient(client: { disconnect(): void }, stores: Pick<UsersClient, 'lease' | 'sequences'>): UsersClient {
  const close = async (): Promise<void> => client.disconnect()
  return { ...stores, close, [Symbol.asyncDispose]: close }
}

function ignore(): void {}
