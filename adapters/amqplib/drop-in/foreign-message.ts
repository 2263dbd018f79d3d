import type { Message } from '../../../src/index.ts'
import { RabbitMessage } from '../consuming/message.ts'
import type { AmqpMessage, AmqpProperties } from '../slice.ts'

/** What other clients hand over: amqp-connection-manager and rascal a message of amqplib, rabbitmq-client one of its own. */
export type ForeignMessage = AmqpMessage | RabbitClientMessage

/** A message of rabbitmq-client. */
interface RabbitClientMessage extends AmqpProperties {
  readonly consumerTag: string
  readonly deliveryTag: number
  readonly redelivered: boolean
  readonly exchange: string
  readonly routingKey: string
  /** Bytes; what `text/plain` or `application/json` without a content encoding came as, it has decoded already. */
  readonly body?: unknown
}

/**
 * For people whose framework owns the ack: `runInline(consumer, { group: queue }).handle(rabbitMessage(raw, { queue }))`
 * resolves with what to tell the broker. With the same `queue` the keys are those of `runRabbit`.
 *
 * rabbitmq-client parses JSON before anybody sees it, and the bytes are gone: they are written anew, the same each time the
 * message comes by it, but not those that another client would see, which is a `conflict` where both share a store. A producer
 * that sets a content encoding, or another content type, keeps it from parsing.
 *
 * @throws TypeError for anything else
 */
export function rabbitMessage(raw: ForeignMessage, { queue }: { readonly queue: string }): Message {
  if (typeof queue !== 'string' || queue === '') throw new TypeError('rabbitMessage: expected the name of a queue')
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
