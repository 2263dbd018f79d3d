import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import * as ioredis from 'consume-once/ioredis'
import * as nodeRedis from 'consume-once/node-redis'
import type { Store } from '../../src/ports/store.ts'

/** A client of one library, as its user opens and closes it. */
export interface UsersClient extends AsyncDisposable {
  lease(options?: ioredis.LeaseOptions): Store
  close(): Promise<void>
}

/** The libraries under which the lease runs. Errors of connections are told by the calls that they break. */
export interface RedisLibrary {
  readonly name: 'ioredis' | 'node-redis'
  /** Comes back by itself within 20 ms. */
  connect(url: string): Promise<UsersClient>
  connectCluster(urls: readonly string[]): Promise<UsersClient>
}

const RECONNECT_AFTER_MS = 20

export const LIBRARIES: readonly RedisLibrary[] = [
  {
    name: 'ioredis',
    async connect(url) {
      const redis = new Redis(url, { retryStrategy: () => RECONNECT_AFTER_MS })
      return usersClient(redis.on('error', ignore), (options) => ioredis.redisLease({ redis, ...options }))
    },
    async connectCluster(urls) {
      const nodes = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) }))
      const redis = new Cluster(nodes, { clusterRetryStrategy: () => RECONNECT_AFTER_MS })
      return usersClient(redis.on('error', ignore), (options) => ioredis.redisLease({ redis, ...options }))
    },
  },
  {
    name: 'node-redis',
    async connect(url) {
      const redis = createClient({ url, socket: { reconnectStrategy: () => RECONNECT_AFTER_MS } })
      await redis.on('error', ignore).connect()
      return usersClient({ disconnect: () => redis.destroy() }, (options) =>
        nodeRedis.redisLease({ redis, ...options }),
      )
    },
    async connectCluster(urls) {
      const rootNodes = urls.map((url) => ({ url }))
      const redis = createCluster({ rootNodes, defaults: { socket: { reconnectStrategy: () => RECONNECT_AFTER_MS } } })
      await redis.on('error', ignore).connect()
      return usersClient({ disconnect: () => redis.destroy() }, (options) =>
        nodeRedis.redisLease({ redis, ...options }),
      )
    },
  },
]

function usersClient(client: { disconnect(): void }, lease: UsersClient['lease']): UsersClient {
  const close = async (): Promise<void> => client.disconnect()
  return { lease, close, [Symbol.asyncDispose]: close }
}

function ignore(): void {}
