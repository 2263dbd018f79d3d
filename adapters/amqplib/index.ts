import { runConsumer, type Consumer, type Running } from '../../src/index.ts'
import { rabbitBroker } from './broker.ts'
import type { RabbitConnect } from './connector.ts'
import type { RabbitOptions } from './options.ts'

/**
 * Runs a consumer on a RabbitMQ queue until it is stopped: it reconnects for ever, and gives up only before the first
 * success.
 *
 * @throws ConfigError `CONFIG_INVALID`: options, a queue that is missing or of another kind, amqplib not installed
 * @throws BrokerError `BROKER_UNREACHABLE`: no connection at the start
 */
export async function runRabbit(connect: RabbitConnect, consumer: Consumer, options: RabbitOptions): Promise<Running> {
  return runConsumer(consumer, rabbitBroker(connect, options))
}

export { confirmedPublisher, type ConfirmedPublisher } from './confirmed-publisher.ts'
export { rabbitBroker } from './broker.ts'
export type { OutgoingMessage } from './outlet.ts'
export type { RabbitConnect } from './connector.ts'
export type { RabbitOptions } from './options.ts'
export type {
  AmqpChannel,
  AmqpConfirmChannel,
  AmqpConnectOptions,
  AmqpConnection,
  AmqpPublishProperties,
} from './slice.ts'
