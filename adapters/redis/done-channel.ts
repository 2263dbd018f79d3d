import {
  hasMethod,
  having,
  matching,
  needed,
  optionsOf,
  or,
  where,
  type DoneChannel,
  type DoneEars,
  type Table,
} from '../../src/internal.ts'

/** The part of a client that publishes. */
export interface PublisherLike {
  publish(channel: string, text: string): Promise<unknown>
}

/** The part of an ioredis client that subscribes. */
export interface IoredisSubscriberLike {
  subscribe(channel: string): Promise<unknown>
  psubscribe(pattern: string): Promise<unknown>
  on(event: 'message', listener: (channel: string, text: string) => void): unknown
  on(event: 'ready' | 'close', listener: () => void): unknown
}

/** The part of a node-redis client that subscribes. */
export interface NodeRedisSubscriberLike {
  subscribe(channel: string, listener: (text: string) => void): Promise<unknown>
  pSubscribe(pattern: string, listener: (text: string) => void): Promise<unknown>
  on(event: 'ready' | 'reconnecting' | 'end', listener: () => void): unknown
}

export interface RedisDoneChannelOptions {
  /** The client that publishes; that of the store will do. */
  readonly redis: PublisherLike
  /**
   * A client of its own, from `redis.duplicate()`: one that subscribes can do nothing else. With node-redis, a connected
   * one. You close it.
   */
  readonly subscriber: IoredisSubscriberLike | NodeRedisSubscriberLike
  /** Name of the channel, the same in all processes that share. @defaultValue 'consume-once:done' */
  readonly channel?: string
}

const DONE_CHANNEL: Table<RedisDoneChannelOptions> = {
  redis: needed(having('a client', 'publish')),
  subscriber: needed(
    where(
      'a client of its own, of ioredis or node-redis, such as redis.duplicate()',
      (client) => hasMethod(client, 'psubscribe') || hasMethod(client, 'pSubscribe'),
    ),
  ),
  channel: or('consume-once:done', matching('a name', /./)),
}

/**
 * Lets the caches of several processes share what is done, by Redis pub/sub: `withDoneCache(store, { maxKeys, share })`.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisDoneChannel(options: RedisDoneChannelOptions): DoneChannel {
  const { redis, subscriber, channel } = optionsOf('redisDoneChannel', DONE_CHANNEL, options, (all, problems) => {
    if ((all.subscriber as unknown) !== all.redis) return
    problems.push('subscriber: expected another client than redis: one that subscribes can do nothing else')
  })
  return {
    publish: async (text) => void (await redis.publish(channel, text)),
    subscribe: (ears) =>
      'pSubscribe' in subscriber ? byNodeRedis(subscriber, channel, ears) : byIoredis(subscriber, channel, ears),
  }
}

function byIoredis(subscriber: IoredisSubscriberLike, channel: string, { onOpen, onLost, onText }: DoneEars): void {
  // Only the answer to a SUBSCRIBE says that texts arrive: after a reconnect a client is ready before that.
  const subscribe = (): void => void subscriber.subscribe(channel).then(onOpen, onLost)
  subscriber.on('message', (on, text) => {
    if (on === channel) onText(text)
  })
  subscriber.on('close', onLost)
  subscriber.on('ready', subscribe)
  subscribe()
}

function byNodeRedis(subscriber: NodeRedisSubscriberLike, channel: string, { onOpen, onLost, onText }: DoneEars): void {
  // The client subscribes again before it is ready.
  subscriber.on('ready', onOpen)
  subscriber.on('reconnecting', onLost)
  subscriber.on('end', onLost)
  void subscriber.subscribe(channel, onText).then(onOpen, onLost)
}
