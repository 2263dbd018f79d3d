import { ConfigError, hasMethod, type Consumer, type Starting } from '../../src/internal.ts'
import { KafkaConfirmedPublisher, type ConfirmedPublisher } from '../kafka/publishing/confirmed-publisher.ts'
import { runOn } from '../kafka/run.ts'
import { clientOf } from './client.ts'
import type { AdaptedKafka } from '../kafka/client.ts'
import type { KafkaOptions } from '../kafka/options/options.ts'
import type { KafkaLike } from './kafkajs-like.ts'

export { kafkaSubscription } from './kafka-subscription.ts'
export { eachBatch, eachMessage, type DropIn, type EachBatch, type EachMessage } from './drop-in/index.ts'
export type { DropInOptions } from './drop-in/options.ts'
export type {
  DeadLetterHeaders,
  KafkaConsumerOptions,
  KafkaDeadLetter,
  KafkaOptions,
  KafkaRetryTopic,
} from '../kafka/options/options.ts'
export { quietKafkaTimers } from './quiet-timers.ts'
export type { AdaptedKafka, Admin } from '../kafka/client.ts'
export type { ConfirmedPublisher } from '../kafka/publishing/confirmed-publisher.ts'
export type { IdentifiedMessage } from '../kafka/publishing/check-message.ts'
export type { KafkaLike } from './kafkajs-like.ts'

/**
 * Runs a consumer on Kafka topics, with a kafkajs 2.2 client, until it is stopped. It rebuilds its kafkajs consumer
 * after every failure, for ever; only before the first join does it give up. It creates consumer, producer and admin
 * from `kafka`, and `stop()` closes them.
 *
 * Returns a handle at once, whose `health()` and `stop()` work while it connects and joins. Await it, or its `ready()`,
 * to wait for the join. A `stop()` before that is no failure: `ready()` resolves with `stopped`.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID`: all problems of the options at once; a topic that does not exist; a login
 * that the brokers refuse
 * @throws (rejects) ConfigError `CONSUMER_NAME_TAKEN`: a consumer with another name runs in this group, in this process
 * @throws (rejects) BrokerError `BROKER_UNREACHABLE` if the group cannot be joined at the start
 * @throws (rejects) StoreError if the store cannot be opened
 */
export function runKafka(kafka: KafkaLike | AdaptedKafka, consumer: Consumer, options: KafkaOptions): Starting {
  return runOn(clientOf(kafka), consumer, options)
}

/**
 * For producers. It creates producer and admin from `kafka` at the first publish, and again after a failure; `close()` closes
 * them.
 *
 * The producer is not an idempotent one. That of kafkajs gives the sequence of a message without an answer to the next one: if
 * the first was written, the broker takes the second for a duplicate and confirms it, unwritten. So a retry may write a
 * message twice, under one message ID, by which consumers recognise it.
 *
 * @throws ConfigError `CONFIG_INVALID` for something that is not a client
 */
export function confirmedPublisher(kafka: KafkaLike | AdaptedKafka): ConfirmedPublisher {
  if (!hasMethod(kafka, 'producer') || !hasMethod(kafka, 'admin')) {
    throw new ConfigError(['confirmedPublisher: kafka: expected a client such as new Kafka({ brokers }) of kafkajs'])
  }
  return new KafkaConfirmedPublisher(clientOf(kafka))
}
