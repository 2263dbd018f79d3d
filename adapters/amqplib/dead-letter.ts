import { hasCode, systemClock, type DeadLetter, type Publisher } from '../../src/index.ts'
import type { ReopeningPublisher } from './confirmed-publisher.ts'
import { ORIGIN_QUEUE, TOMBSTONE, cutBytes, headersToKeep } from './headers.ts'
import { RabbitMessage } from './message.ts'
import type { OutgoingMessage } from './outlet.ts'
import type { AmqpProperties, AmqpPublishProperties } from './slice.ts'
import { withoutUndefined } from './without-undefined.ts'

const MOST_DETAIL_BYTES = 1024

/** Moves messages to the dead-letter queue: body, properties and message ID as they were, and why in headers. */
export class DeadLetterQueue implements Publisher {
  readonly #publisher: ReopeningPublisher
  readonly #queue: string

  constructor(publisher: ReopeningPublisher, queue: string) {
    this.#publisher = publisher
    this.#queue = queue
  }

  async deadLetter(letter: DeadLetter): Promise<void> {
    const outgoing = outgoingLetter(letter, this.#queue)
    try {
      await this.#publisher.publish(outgoing)
    } catch (error) {
      if (!isUnencodable(error)) throw error
      // A header of the sender that can be read but not written: without them all rather than never.
      await this.#publisher.publish({ ...outgoing, headers: ownHeaders(letter) })
    }
  }
}

function outgoingLetter(letter: DeadLetter, queue: string): OutgoingMessage {
  const { message } = letter
  return {
    routingKey: queue,
    body: message.value ?? RabbitMessage.rawOf(message)?.content ?? new Uint8Array(0),
    messageId: message.messageId,
    headers: { ...headersToKeep(message.headers), ...ownHeaders(letter) },
    properties: propertiesToKeep(RabbitMessage.rawOf(message)?.properties ?? {}),
  }
}

function ownHeaders({ message, ...letter }: DeadLetter): Record<string, unknown> {
  const fields = RabbitMessage.rawOf(message)?.fields
  const { [ORIGIN_EXCHANGE]: exchange, [ORIGIN_ROUTING_KEY]: routingKey } = message.headers
  return {
    'consume-once-reason': cutBytes(letter.reason, 200),
    ...(letter.parked ? { 'consume-once-parked': true } : {}),
    'consume-once-detail': cutBytes(letter.detail, MOST_DETAIL_BYTES),
    ...(letter.errorClass === undefined ? {} : { 'consume-once-error-class': cutBytes(letter.errorClass, 200) }),
    'consume-once-attempts': letter.attempts,
    'consume-once-consumer': letter.consumer,
    'consume-once-dead-lettered-at': new Date(systemClock.now()).toISOString(),
    [ORIGIN_QUEUE]: message.origin,
    // A copy of a copy says where the message first was.
    [ORIGIN_EXCHANGE]: textOr(exchange, fields?.exchange ?? ''),
    [ORIGIN_ROUTING_KEY]: textOr(routingKey, fields?.routingKey ?? ''),
    ...(message.value === null ? { [TOMBSTONE]: true } : {}),
  }
}

const ORIGIN_EXCHANGE = 'consume-once-origin-exchange'
const ORIGIN_ROUTING_KEY = 'consume-once-origin-routing-key'

/**
 * Without `expiration`, which would end the dead letter too, and without `userId`, which the broker refuses from anybody
 * but that user.
 */
function propertiesToKeep(properties: AmqpProperties): AmqpPublishProperties {
  return withoutUndefined<AmqpPublishProperties>({
    contentType: text(properties.contentType),
    contentEncoding: text(properties.contentEncoding),
    correlationId: text(properties.correlationId),
    replyTo: text(properties.replyTo),
    type: text(properties.type),
    appId: text(properties.appId),
    priority: number(properties.priority),
    timestamp: number(properties.timestamp),
  })
}

function isUnencodable(error: unknown): boolean {
  if (!hasCode(error, 'BROKER_PUBLISH_REFUSED')) return false
  return error.cause instanceof RangeError || error.cause instanceof TypeError || error.cause instanceof SyntaxError
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function textOr(value: unknown, other: string): string {
  return typeof value === 'string' ? value : other
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
