import { checkNames, ConfigError, givenOf, type DoneChannel, type DoneEars } from '../../../src/spi.ts'
import { DEFAULT_CHANNEL, problemsOfChannel } from '../lease/channel-options.ts'

/** The part of an ioredis client that publishes. */
export interface PublisherLike {
  publish(channel: string, text: string): Promise<unknown>
}

/** The part of an ioredis client that subscribes. */
export interface SubscriberLike {
  subscribe(channel: string): Promise<unknown>
  on(event: 'message', listener: (channel: string, text: string) => void): unknown
  on(event: 'ready' | 'close', listener: () => void): unknown
}

export interface RedisDoneChannelOptions {
  /** The client that publishes; that of the store will do. */
  readonly redis: PublisherLike
  /** A client of its own, such as `redis.duplicate()`: one that subscribes can do nothing else. You close it. */
  readonly subscriber: SubscriberLike
  /** Name of the channel, the same in all processes that share. @defaultValue 'consume-once:done' */
  readonly channel?: string
}

/**
 * Lets the caches of several processes share what is done, by Redis pub/sub: `withDoneCache(store, { max, share })`.
 * @throws ConfigError `CONFIG_INVALID`
 */
export function redisDoneChannel(options: RedisDoneChannelOptions): DoneChannel {
  const given = givenOf(options)
  const { redis, subscriber, channel = DEFAULT_CHANNEL } = given
  const problems = problemsOfChannel({ redis, subscriber, channel })
  checkNames('', given, { of: 'redisDoneChannel()', known: { redis, subscriber, channel } }, problems)
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    publish: async (text) => void (await redis.publish(channel, text)),
    subscribe({ onOpen, onLost, onText }: DoneEars): void {
      // Only the answer to a SUBSCRIBE says that texts arrive: after a reconnect a client is ready before that.
      const subscribe = (): void => void subscriber.subscribe(channel).then(onOpen, onLost)
      subscriber.on('message', (on, text) => {
        if (on === channel) onText(text)
      })
      subscriber.on('close', onLost)
      subscriber.on('ready', subscribe)
      subscribe()
    },
  }
}
