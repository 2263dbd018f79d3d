import type { Subscription } from '../../src/internal.ts'
import type { AdaptedKafka } from '../kafka/client.ts'
import type { KafkaOptions } from '../kafka/options/options.ts'
import { subscriptionOn } from '../kafka/run.ts'
import { clientOf } from './client.ts'
import type { KafkaLike } from './kafkajs-like.ts'

/**
 * The group and topics of a consumer, for `adminOf`, `doctor`, replays and the config of the command-line tool. Pass
 * the same arguments as to `runKafka`. Nothing is opened in advance, and each call closes what it has opened.
 *
 * @throws ConfigError `CONFIG_INVALID`, as `runKafka` does
 */
export function kafkaSubscription(kafka: KafkaLike | AdaptedKafka, options: KafkaOptions): Subscription {
  return subscriptionOn(clientOf(kafka), options)
}
