import { shown } from '../../../src/spi.ts'

export const DEFAULT_CHANNEL = 'consume-once:done'

interface ChannelOptions {
  readonly redis: { readonly publish: unknown }
  readonly subscriber: { readonly subscribe: unknown }
  readonly channel: string
}

export function problemsOfChannel({ redis, subscriber, channel }: ChannelOptions): string[] {
  const problems: string[] = []
  if (typeof redis?.publish !== 'function') problems.push(`redis: expected a client, got ${shown(redis)}`)
  if (typeof subscriber?.subscribe !== 'function') {
    problems.push(`subscriber: expected a client of its own, such as redis.duplicate(), got ${shown(subscriber)}`)
  } else if ((subscriber as unknown) === redis) {
    problems.push('subscriber: expected another client than redis: one that subscribes can do nothing else')
  }
  if (typeof channel !== 'string' || channel === '') {
    problems.push(`channel: expected a name, got ${shown(channel)}`)
  }
  return problems.map((problem) => `redisDoneChannel: ${problem}`)
}
