import type { Subscription } from '../../src/internal.ts'
import { checkGroup } from './checkup/checkup.ts'
import type { KafkaOptions } from './options/options.ts'
import { resolveKafka } from './options/resolve.ts'
import { kafkaPlaces } from './replay/places.ts'
import type { SubscriptionKafkaLike } from './kafkajs-like.ts'

/**
 * The group and topics of a consumer, for `adminOf`, `doctor`, replays and the config of the command-line tool. Pass
 * the same arguments as to `runKafka`. Nothing is opened in advance, and each call closes what it has opened.
 *
 * @throws ConfigError `CONFIG_INVALID`, as `runKafka` does
 */
export function kafkaSubscription(kafka: SubscriptionKafkaLike, options: KafkaOptions): Subscription {
  const resolved = resolveKafka(options, 'kafkaSubscription')
  return {
    group: resolved.group,
    origins: resolved.topology.sources,
    checkup: (consumer) => checkGroup(kafka, resolved, consumer),
    replay: kafkaPlaces(kafka, resolved),
  }
}
