import {
  COPY_HEADER,
  withoutUndefined,
  type Message,
  type ReplayPublisher,
  type Republished,
} from '../../../src/internal.ts'
import type { Connector } from '../connection/connector.ts'
import { headersOfSender } from '../message/headers.ts'
import { RabbitMessage } from '../message/message.ts'
import { propertiesToKeep, shortText } from '../message/properties.ts'
import { ReopeningPublisher } from '../publishing/confirmed-publisher.ts'
import { deadLetterIn, originIn } from './dead-letter-facts.ts'
import { destinationIn, type Destination } from './destination.ts'

const MOST_AT_ONCE = 1_000

/** Sends dead letters back: persistent, mandatory and confirmed. It opens its connection at the first publish. */
export class RabbitReplayPublisher implements ReplayPublisher {
  readonly #publisher: ReopeningPublisher

  constructor(connector: Connector) {
    this.#publisher = new ReopeningPublisher(connector, 'consume-once redrive')
  }

  async publish(messages: readonly Republished[]): Promise<void> {
    for (let from = 0; from < messages.length; from += MOST_AT_ONCE) {
      const some = messages.slice(from, from + MOST_AT_ONCE)
      // All must have ended before the caller publishes them again.
      const results = await Promise.allSettled(some.map((message) => this.#publish(message)))
      const failed = results.find((result) => result.status === 'rejected')
      if (failed !== undefined) throw failed.reason
    }
  }

  close(): Promise<void> {
    return this.#publisher.close()
  }

  async #publish({ item, destination, headers }: Republished): Promise<void> {
    const { message } = item
    const raw = RabbitMessage.rawOf(message)
    const place = destinationIn(destination)
    await this.#publisher.publish({
      ...place,
      body: message.value ?? new Uint8Array(0),
      messageId: shortText(message.messageId),
      headers: {
        ...headersOfSender(message.headers, deadLetterIn(message.headers)?.by === 'spring'),
        ...originHeaders(message, place),
        ...headers,
      },
      properties: propertiesToKeep(raw?.properties ?? { timestamp: secondsOf(message.timestamp) }),
    })
  }
}

/**
 * Through the default exchange the routing key becomes the name of a queue, so headers keep the first one. Through
 * another exchange other consumers may get the message too, for which its origin would be wrong.
 */
function originHeaders({ headers }: Message, { exchange }: Destination): Record<string, unknown> {
  if (exchange !== '') return {}
  const first = deadLetterIn(headers)?.first ?? originIn(headers)
  return withoutUndefined({
    [COPY_HEADER.originQueue]: first.queue,
    [COPY_HEADER.originExchange]: first.exchange,
    [COPY_HEADER.originRoutingKey]: first.routingKey,
  })
}

function secondsOf(timestamp: number | undefined): number | undefined {
  return timestamp === undefined ? undefined : Math.floor(timestamp / 1000)
}
