import { runConsumer, type Consumer, type Starting } from '../../src/internal.ts'
import { rabbitSource } from './source-and-publisher.ts'
import type { RabbitConnect } from './connection/connector.ts'
import type { RabbitOptions } from './options/options.ts'

/**
 * Runs a consumer on a RabbitMQ queue until it is stopped. It reconnects after every failure, for ever; only before the
 * first success does it give up. From the start it waits for a queue that another connection consumes exclusively.
 *
 * Returns a handle at once, whose `health()` and `stop()` work while it connects. Await it, or its `ready()`, to wait
 * until it consumes. A `stop()` before that is no failure: `ready()` resolves with `stopped`.
 *
 * @throws (rejects) ConfigError `CONFIG_INVALID`: options; a queue that is missing, of another kind, or that loses
 * messages; a login, virtual host or certificate that is refused; amqplib not installed
 * @throws (rejects) ConfigError `CONSUMER_NAME_TAKEN`: a consumer with another name runs on this queue, in this process
 * @throws (rejects) BrokerError `BROKER_UNREACHABLE`: no connection at the start
 * @throws (rejects) StoreError if the store cannot be opened
 */
export function runRabbit(connect: RabbitConnect, consumer: Consumer, options: RabbitOptions): Starting {
  return runConsumer(consumer, () => rabbitSource(connect, options, consumer.name))
}

export { confirmedPublisher, type ConfirmedPublisher } from './publishing/confirmed-publisher.ts'
export type { IdentifiedMessage } from './publishing/check-message.ts'
export { onMessage, type OnMessage, type RabbitDropIn } from './drop-in/index.ts'
export { eachDelivery, type EachDelivery } from './drop-in/each-delivery.ts'
export { rabbitDeadLetters } from './drop-in/dead-letters.ts'
export { rabbitMessage, type ForeignMessage } from './drop-in/foreign-message.ts'
export { rabbitSubscription } from './checkup/rabbit-subscription.ts'
export type { OnMessageOptions } from './drop-in/options.ts'
export type { OwnChannel } from './drop-in/channel.ts'
export type { RabbitConnect } from './connection/connector.ts'
export type {
  RabbitDeadLetter,
  RabbitDelayQueue,
  RabbitDelayedByQueue,
  RabbitDelayQueues,
  RabbitOptions,
  RabbitRetry,
} from './options/options.ts'
export type {
  AmqpChannel,
  AmqpConfirmChannel,
  AmqpConnectOptions,
  AmqpConnection,
  AmqpMessage,
  AmqpPublishProperties,
} from './amqplib-like.ts'
