import { runConsumer, type Consumer, type Running } from '../../src/index.ts'
import { kafkaBroker } from './broker.ts'
import type { KafkaOptions } from './options/options.ts'
import type { KafkaLike } from './slice.ts'

export { kafkaBroker } from './broker.ts'
export { fromKafka } from './checkup/from-kafka.ts'
export { eachBatch, eachMessage, type DropIn, type EachBatch, type EachMessage } from './drop-in/index.ts'
export type { DropInOptions } from './drop-in/options.ts'
export type { DeadLetterHeaders, KafkaConsumerOptions, KafkaOptions, KafkaRetryTopic } from './options/options.ts'
export { quietKafkaTimers } from './quiet-timers.ts'
export type { CheckupAdminLike, CheckupKafkaLike, KafkaLike } from './slice.ts'

/**
 * Runs a consumer on topics of Kafka, with a client of kafkajs 2.2, until it is stopped: it rebuilds its consumer for ever,
 * and gives up only before the first join. Consumer, producer and admin are made from `kafka` and closed by `stop()`.
 *
 * @throws ConfigError `CONFIG_INVALID`: all problems of the options at once; a topic that does not exist
 * @throws BrokerError `BROKER_UNREACHABLE` when the group cannot be joined at the start
 * @throws StoreError when the store cannot be opened
 */
export async function runKafka(kafka: KafkaLike, consumer: Consumer, options: KafkaOptions): Promise<Running> {
  return runConsumer(consumer, kafkaBroker(kafka, options))
}
