import { needed, optionsOf, where, type Message, type Table } from '../../../src/internal.ts'
import { RabbitMessage } from '../message/message.ts'
import type { AmqpMessage, AmqpProperties } from '../amqplib-like.ts'

/**
 * A message of another client: amqp-connection-manager and rascal use messages of amqplib, rabbitmq-client has its own.
 */
export type ForeignMessage = AmqpMessage | RabbitClientMessage

/** A message of rabbitmq-client. */
interface RabbitClientMessage extends AmqpProperties {
  readonly consumerTag: string
  readonly deliveryTag: number
  readonly redelivered: boolean
  readonly exchange: string
  readonly routingKey: string
  /** Bytes. A body of type `text/plain` or `application/json` without a content encoding is already decoded. */
  readonly body?: unknown
}

const RABBIT_MESSAGE: Table<{ readonly queue: string }> = {
  queue: needed(where('the name of a queue', (queue) => typeof queue === 'string' && queue !== '')),
}

/** Once for each message: nothing is made where all is right. */
function isQueue(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false
  for (const name in options) if (name !== 'queue') return false
  const { queue } = options as { readonly queue?: unknown }
  return typeof queue === 'string' && queue !== ''
}

/**
 * Converts a message for frameworks that own the ack: `runInline(consumer, { group: queue }).handle(rabbitMessage(raw,
 * { queue }))` resolves with the settlement to carry out. With the same `queue` the keys are those of `runRabbit`.
 *
 * rabbitmq-client parses JSON before it delivers a message, and the original bytes are lost. This function serializes
 * the value again. The result is the same for each delivery through rabbitmq-client, but differs from the bytes that
 * another client gets, which is a `conflict` if both share a store. If the producer sets a content encoding, or another
 * content type, rabbitmq-client does not parse the body.
 *
 * @throws TypeError for anything else
 */
export function rabbitMessage(raw: ForeignMessage, options: { readonly queue: string }): Message {
  if (!isQueue(options)) optionsOf('rabbitMessage', RABBIT_MESSAGE, options)
  const { queue } = options
  const message = 'fields' in raw ? raw : ofRabbitClient(raw)
  if (!(message.content instanceof Uint8Array)) {
    throw new TypeError('rabbitMessage: expected a message as amqplib or rabbitmq-client deliver it')
  }
  const { consumerTag } = message.fields as { readonly consumerTag?: string }
  return new RabbitMessage(message, queue, consumerTag ?? '')
}

function ofRabbitClient(raw: RabbitClientMessage): AmqpMessage {
  const { deliveryTag, redelivered, exchange, routingKey, body, ...properties } = raw
  const fields = { consumerTag: raw.consumerTag, deliveryTag, redelivered, exchange, routingKey }
  return { content: bytesOf(body), fields, properties }
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}
