// Real clients fit the slice of amqplib that is used, and what must not be written does not compile.

import type { Channel, ChannelModel, ConfirmChannel, Options, RecoveringChannelModel } from 'amqplib'
import { confirmedPublisher, rabbitBroker, runRabbit } from '../../adapters/amqplib/index.ts'
import type {
  AmqpChannel,
  AmqpConfirmChannel,
  AmqpConnectOptions,
  AmqpConnection,
  AmqpPublishProperties,
  RabbitConnect,
} from '../../adapters/amqplib/index.ts'
import type { Consumer, Running } from '../../src/index.ts'

declare const model: ChannelModel
declare const recovering: RecoveringChannelModel
declare const channel: Channel
declare const confirmChannel: ConfirmChannel
declare const consumer: Consumer

model satisfies AmqpConnection
recovering satisfies AmqpConnection
channel satisfies AmqpChannel
confirmChannel satisfies AmqpConfirmChannel

// What may be asked of the slice may be asked of the client.
declare const connectOptions: AmqpConnectOptions
connectOptions satisfies Options.Connect
declare const properties: AmqpPublishProperties
properties satisfies Options.Publish

'amqp://localhost' satisfies RabbitConnect
;({ hostname: 'localhost', port: 5671, protocol: 'amqps' }) satisfies RabbitConnect
;(async () => model) satisfies RabbitConnect
;({ connection: model }) satisfies RabbitConnect
;({ connection: recovering }) satisfies RabbitConnect

export const running: Promise<Running> = runRabbit('amqp://localhost', consumer, { queue: 'sms' })
export const all: Promise<Running> = runRabbit({ connection: model }, consumer, {
  queue: 'sms',
  prefetch: 100,
  assert: 'check',
  queueType: 'classic',
  deadLetterQueue: 'sms.dead',
  lane: ({ headers }) => (typeof headers['tenant'] === 'string' ? headers['tenant'] : undefined),
  ackBatch: false,
  singleActiveConsumer: true,
})

// @ts-expect-error a connection is lent by name, so that nobody expects it to be closed
rabbitBroker(model, { queue: 'sms' })
// @ts-expect-error a queue must be named
rabbitBroker('amqp://localhost', {})
// @ts-expect-error streams are not supported
rabbitBroker('amqp://localhost', { queue: 'sms', queueType: 'stream' })
// @ts-expect-error a message without an ID is published deliberately: `messageId: undefined`
export const nameless: Promise<void> = confirmedPublisher('amqp://localhost').publish({
  routingKey: 'sms',
  body: new Uint8Array(),
})
