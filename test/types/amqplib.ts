// Real clients fit the slice of amqplib that is used, and what must not be written does not compile.

import type { Channel, ChannelModel, ConfirmChannel, GetMessage, Options, RecoveringChannelModel } from 'amqplib'
import type * as Oldest from 'amqplib-0.10'
import type * as First from 'amqplib-1'
import type { AsyncMessage } from 'rabbitmq-client'
import { confirmedPublisher, onMessage, rabbitMessage, runRabbit } from '../../adapters/amqplib/index.ts'
import { rabbitSource } from '../../adapters/amqplib/source-and-publisher.ts'
import type {
  AmqpChannel,
  AmqpConfirmChannel,
  AmqpConnectOptions,
  AmqpConnection,
  AmqpPublishProperties,
  RabbitConnect,
} from '../../adapters/amqplib/index.ts'
import type { Consumer, Message, Running } from '../../src/index.ts'

declare const model: ChannelModel
declare const recovering: RecoveringChannelModel
declare const channel: Channel
declare const confirmChannel: ConfirmChannel
declare const consumer: Consumer

declare const oldest: {
  readonly model: Oldest.ChannelModel
  readonly channel: Oldest.Channel
  readonly confirm: Oldest.ConfirmChannel
}
declare const first: {
  readonly model: First.ChannelModel
  readonly channel: First.Channel
  readonly confirm: First.ConfirmChannel
}

model satisfies AmqpConnection
recovering satisfies AmqpConnection
channel satisfies AmqpChannel
confirmChannel satisfies AmqpConfirmChannel
for (const of of [oldest, first]) {
  of.model satisfies AmqpConnection
  of.channel satisfies AmqpChannel
  of.confirm satisfies AmqpConfirmChannel
}

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
  setup: 'check',
  queueType: 'classic',
  deadLetter: { queue: 'sms.dead' },
  lane: ({ headers }) => (typeof headers['tenant'] === 'string' ? headers['tenant'] : undefined),
  ackBatch: false,
  singleActiveConsumer: true,
})

export const consuming: Promise<unknown> = channel.consume('sms', onMessage(channel, consumer), { noAck: false })
onMessage(confirmChannel, consumer, { queue: 'sms', deadLetter: 'reject', lane: ({ messageId }) => messageId })
onMessage(channel, consumer, { deadLetter: { publisher: confirmedPublisher('amqp://localhost'), queue: 'dead' } })
onMessage(oldest.channel, consumer)
onMessage(first.confirm, consumer)
// @ts-expect-error a connection is no channel
onMessage(model, consumer)

declare const got: GetMessage
declare const ofRabbitClient: AsyncMessage
export const messages: readonly Message[] = [
  rabbitMessage(got, { queue: 'sms' }),
  rabbitMessage(ofRabbitClient, { queue: 'sms' }),
]

rabbitSource('amqp://localhost', {
  queue: 'sms',
  retry: { delayQueues: [1_000, { delayMs: 60_000, queue: 'sms.later' }], overdueAfterMs: 30_000 },
  deadLetter: { exchange: 'dead', routingKey: 'sms' },
  consumerTimeoutMs: 600_000,
})
rabbitSource('amqp://localhost', {
  queue: 'sms',
  retry: { delayedByQueue: { minMs: 1_000, maxMs: 60_000 } },
  deadLetter: 'reject',
})
// @ts-expect-error a message waits in one way or the other
rabbitSource('amqp://localhost', { queue: 'sms', retry: { delayQueues: [1], delayedByQueue: { minMs: 1, maxMs: 2 } } })
// @ts-expect-error what waits in the queue itself is no copy that may be overdue
rabbitSource('amqp://localhost', { queue: 'sms', retry: { delayedByQueue: { minMs: 1, maxMs: 2 }, overdueAfterMs: 5 } })

// @ts-expect-error a connection is lent by name, so that nobody expects it to be closed
rabbitSource(model, { queue: 'sms' })
// @ts-expect-error a queue must be named
rabbitSource('amqp://localhost', {})
// @ts-expect-error streams are not supported
rabbitSource('amqp://localhost', { queue: 'sms', queueType: 'stream' })
// @ts-expect-error a producer gives each message an ID
export const nameless: Promise<void> = confirmedPublisher('amqp://localhost').publish({
  routingKey: 'sms',
  body: new Uint8Array(),
})
